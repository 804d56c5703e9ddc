//! Runs on databases that change other rows than they must: the result says that the database is broken.

use crate::loaded;
use crate::program::{check_after, json, lydite, scratch, text, total, windows_from};
use lydite_testkit::postgres;

#[test]
fn a_database_that_drops_a_tenth_of_its_updates_is_broken_and_ends_with_code_1() {
    let server = postgres::shared();
    let directory = scratch();
    let path = directory.path().join("result.json");
    let url = loaded::on_postgres("drops_updates", 1);
    let drops = "CREATE FUNCTION drops() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN \
                 IF random() < 0.1 THEN RETURN NULL; END IF; RETURN NEW; END $$; \
                 CREATE TRIGGER drops BEFORE UPDATE ON warehouse FOR EACH ROW EXECUTE FUNCTION drops()";
    server.psql("drops_updates", drops);
    for tx in ["statements", "batched", "procedures"] {
        let failed = windows_from("1s", |window| {
            let plan = [
                "run",
                &url,
                "--tx",
                tx,
                "--duration",
                window,
                "--warmup",
                "0",
                "--terminals",
                "3",
                "--quiet",
            ];
            let ended = lydite(&[&plan[..], &["--json", text(&path)]].concat());
            let result = json(&path);
            if total(&result, "failed") == 0 {
                return None;
            }
            let ended = ended.code(1);
            assert_eq!(result["status"], "complete");
            let (ok, detail) = check_after(&result, "rows");
            assert!(!ok && detail.contains("the database is broken, first Payment: "), "{tx}: {detail}");
            assert!(detail.contains("warehouse"), "{tx}: {detail}");
            assert!(ended.stdout.contains("rows WRONG"), "{}", ended.stdout);
            // What was rolled back is not in the ledger.
            assert_eq!(check_after(&result, "ledger").0, true, "{tx}: {result}");
            let counted: u64 = detail.split(' ').next().and_then(|count| count.parse().ok()).expect(detail);
            Some((counted, total(&result, "failed")))
        });
        assert!(failed.0 >= failed.1, "{tx}: {failed:?}");
    }
}
