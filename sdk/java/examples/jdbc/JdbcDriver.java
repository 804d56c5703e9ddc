// A driver for Lydite in Java, without an SDK: PostgreSQL by JDBC. It plays the transactions itself. See README.md.

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.EOFException;
import java.io.FileDescriptor;
import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.PrintStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.math.RoundingMode;
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Instant;
import java.time.OffsetDateTime;
import java.time.temporal.ChronoUnit;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.MessageUnpacker;
import org.postgresql.PGConnection;
import org.postgresql.PGStatement;
import org.postgresql.ds.PGSimpleDataSource;

/** One process for all sessions: each has a thread and a connection of its own. */
public final class JdbcDriver {
    /** Bytes of the longest message. */
    private static final int LONGEST = 64 << 20;
    /** Rows in one answer to `read` and `next`. */
    private static final int BATCH = 1_000;
    /** Seconds between two signs of life during a long statement. */
    private static final int SIGN = 5;
    /** Items of the standard: an order with a greater number is to be rolled back. */
    private static final int ITEMS = 100_000;

    /**
     * Tables, indexes and statements are those of Lydite's own client (postgres:// with foreign_keys=off), so that the
     * two can be compared.
     */
    private static final String SCHEMA = """
            CREATE TABLE item (i_id integer NOT NULL, i_im_id integer NOT NULL, i_name varchar(24) NOT NULL,
                i_price numeric(5, 2) NOT NULL, i_data varchar(50) NOT NULL);
            CREATE TABLE warehouse (w_id integer NOT NULL, w_name varchar(10) NOT NULL, w_street_1 varchar(20) NOT NULL,
                w_street_2 varchar(20) NOT NULL, w_city varchar(20) NOT NULL, w_state char(2) NOT NULL,
                w_zip char(9) NOT NULL, w_tax numeric(4, 4) NOT NULL, w_ytd numeric(12, 2) NOT NULL)
                WITH (fillfactor = 10);
            CREATE TABLE district (d_id smallint NOT NULL, d_w_id integer NOT NULL, d_name varchar(10) NOT NULL,
                d_street_1 varchar(20) NOT NULL, d_street_2 varchar(20) NOT NULL, d_city varchar(20) NOT NULL,
                d_state char(2) NOT NULL, d_zip char(9) NOT NULL, d_tax numeric(4, 4) NOT NULL,
                d_ytd numeric(12, 2) NOT NULL, d_next_o_id integer NOT NULL) WITH (fillfactor = 10);
            CREATE TABLE customer (c_id integer NOT NULL, c_d_id smallint NOT NULL, c_w_id integer NOT NULL,
                c_first varchar(16) NOT NULL, c_middle char(2) NOT NULL, c_last varchar(16) NOT NULL,
                c_street_1 varchar(20) NOT NULL, c_street_2 varchar(20) NOT NULL, c_city varchar(20) NOT NULL,
                c_state char(2) NOT NULL, c_zip char(9) NOT NULL, c_phone char(16) NOT NULL,
                c_since timestamptz NOT NULL, c_credit char(2) NOT NULL, c_credit_lim numeric(12, 2) NOT NULL,
                c_discount numeric(4, 4) NOT NULL, c_balance numeric(12, 2) NOT NULL,
                c_ytd_payment numeric(12, 2) NOT NULL, c_payment_cnt integer NOT NULL, c_delivery_cnt integer NOT NULL,
                c_data varchar(500) NOT NULL) WITH (fillfactor = 85);
            CREATE TABLE history (h_c_id integer NOT NULL, h_c_d_id smallint NOT NULL, h_c_w_id integer NOT NULL,
                h_d_id smallint NOT NULL, h_w_id integer NOT NULL, h_date timestamptz NOT NULL,
                h_amount numeric(6, 2) NOT NULL, h_data varchar(24) NOT NULL);
            CREATE TABLE orders (o_id integer NOT NULL, o_d_id smallint NOT NULL, o_w_id integer NOT NULL,
                o_c_id integer NOT NULL, o_entry_d timestamptz NOT NULL, o_carrier_id smallint,
                o_ol_cnt smallint NOT NULL, o_all_local smallint NOT NULL);
            CREATE TABLE new_order (no_o_id integer NOT NULL, no_d_id smallint NOT NULL, no_w_id integer NOT NULL);
            CREATE TABLE order_line (ol_o_id integer NOT NULL, ol_d_id smallint NOT NULL, ol_w_id integer NOT NULL,
                ol_number smallint NOT NULL, ol_i_id integer NOT NULL, ol_supply_w_id integer NOT NULL,
                ol_delivery_d timestamptz, ol_quantity smallint NOT NULL, ol_amount numeric(6, 2) NOT NULL,
                ol_dist_info char(24) NOT NULL);
            CREATE TABLE stock (s_i_id integer NOT NULL, s_w_id integer NOT NULL, s_quantity smallint NOT NULL,
                s_dist_01 char(24) NOT NULL, s_dist_02 char(24) NOT NULL, s_dist_03 char(24) NOT NULL,
                s_dist_04 char(24) NOT NULL, s_dist_05 char(24) NOT NULL, s_dist_06 char(24) NOT NULL,
                s_dist_07 char(24) NOT NULL, s_dist_08 char(24) NOT NULL, s_dist_09 char(24) NOT NULL,
                s_dist_10 char(24) NOT NULL, s_ytd integer NOT NULL, s_order_cnt integer NOT NULL,
                s_remote_cnt integer NOT NULL, s_data varchar(50) NOT NULL) WITH (fillfactor = 80);
            CREATE TABLE lydite_meta (name varchar(32) PRIMARY KEY, value varchar(200) NOT NULL);
            CREATE TABLE lydite_load (unit integer PRIMARY KEY);
            """;
    /** Indexes beside the primary keys. */
    private static final List<String> INDEXES = List.of(
            "customer_by_name ON customer (c_w_id, c_d_id, c_last, c_first)",
            "orders_by_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)");

    /** A column; `kind` is `int`, `money` (whole cents), `rate` (whole ten-thousandths), `text` or `time`. */
    private record Column(String name, String kind) {}

    /** A table; ITEM has no column for the warehouse and HISTORY no key, so these are empty. */
    private record Table(String warehouse, String key, List<Column> columns) {}

    /** The nine tables by name, with their columns in the protocol's order. */
    private static final Map<String, Table> TABLES = new LinkedHashMap<>();

    private static void table(String name, String warehouse, String key, String columns) {
        TABLES.put(name, new Table(warehouse, key, Arrays.stream(columns.split(" ")).map(column -> {
            String[] parts = column.split(":");
            return new Column(parts[0], parts.length == 1 ? "int" : parts[1]);
        }).toList()));
    }

    /** The columns of an address. */
    private static String address(char of) {
        return "?_street_1:text ?_street_2:text ?_city:text ?_state:text ?_zip:text".replace('?', of);
    }

    static {
        table("item", "", "i_id", "i_id i_im_id i_name:text i_price:money i_data:text");
        table("warehouse", "w_id", "w_id", "w_id w_name:text " + address('w') + " w_tax:rate w_ytd:money");
        table("district", "d_w_id", "d_w_id, d_id",
                "d_id d_w_id d_name:text " + address('d') + " d_tax:rate d_ytd:money d_next_o_id");
        table("customer", "c_w_id", "c_w_id, c_d_id, c_id",
                "c_id c_d_id c_w_id c_first:text c_middle:text c_last:text " + address('c') + " c_phone:text "
                        + "c_since:time c_credit:text c_credit_lim:money c_discount:rate c_balance:money "
                        + "c_ytd_payment:money c_payment_cnt c_delivery_cnt c_data:text");
        table("history", "h_w_id", "",
                "h_c_id h_c_d_id h_c_w_id h_d_id h_w_id h_date:time h_amount:money h_data:text");
        table("orders", "o_w_id", "o_w_id, o_d_id, o_id",
                "o_id o_d_id o_w_id o_c_id o_entry_d:time o_carrier_id o_ol_cnt o_all_local");
        table("new_order", "no_w_id", "no_w_id, no_d_id, no_o_id", "no_o_id no_d_id no_w_id");
        table("order_line", "ol_w_id", "ol_w_id, ol_d_id, ol_o_id, ol_number",
                "ol_o_id ol_d_id ol_w_id ol_number ol_i_id ol_supply_w_id ol_delivery_d:time ol_quantity "
                        + "ol_amount:money ol_dist_info:text");
        table("stock", "s_w_id", "s_w_id, s_i_id",
                "s_i_id s_w_id s_quantity s_dist_01:text s_dist_02:text s_dist_03:text s_dist_04:text s_dist_05:text "
                        + "s_dist_06:text s_dist_07:text s_dist_08:text s_dist_09:text s_dist_10:text s_ytd "
                        + "s_order_cnt s_remote_cnt s_data:text");
    }

    public static void main(String[] arguments) throws IOException {
        // Whatever is printed would be no message: it goes to standard error.
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err), true));
        String path = System.getenv("LYDITE_SOCKET");
        if (path == null) {
            exit("this is a driver, which Lydite starts: "
                    + "lydite driver test 'driver:sdk/java/examples/jdbc host=localhost dbname=tpcc'");
        }
        PGSimpleDataSource source = new PGSimpleDataSource();
        try {
            configure(source, arguments);
        } catch (SQLException | IllegalArgumentException error) {
            exit(error.getMessage());
        }
        ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listener.bind(UnixDomainSocketAddress.of(path));
        daemon(() -> {
            while (true) {
                SocketChannel channel;
                try {
                    channel = listener.accept();
                } catch (ClosedChannelException closed) {
                    return;
                } catch (IOException error) {
                    // Too many files may be open. Other sessions will close theirs.
                    System.err.println("a session can't be accepted: " + error);
                    pause();
                    continue;
                }
                daemon(() -> {
                    try (channel) {
                        new Session(source, Channels.newOutputStream(channel)).serve(Channels.newInputStream(channel));
                    }
                });
            }
        });
        new Session(source, out).serve(new FileInputStream(FileDescriptor.in));
        // Lydite has gone. Other sessions end with the process, whatever they wait for.
        Runtime.getRuntime().halt(0);
    }

    private static void exit(String why) {
        System.err.println(why);
        System.exit(2);
    }

    /** Reads the arguments: `host=`, `port=`, `dbname=` and pgjdbc's properties, or a JDBC URL and properties. */
    private static void configure(PGSimpleDataSource source, String[] arguments) throws SQLException {
        // The server prepares a statement when it is executed for the first time.
        source.setPrepareThreshold(1);
        List<String> words = new ArrayList<>(List.of(arguments));
        if (!words.isEmpty() && words.get(0).startsWith("jdbc:")) {
            String url = words.remove(0);
            if (!url.startsWith("jdbc:postgresql://")) {
                throw new IllegalArgumentException("'" + url + "': use jdbc:postgresql://HOST:PORT/DBNAME");
            }
            source.setURL(url);
        } else {
            Map<String, String> environment = System.getenv();
            Map.of("PGHOST", "PGHOST", "PGPORT", "PGPORT", "PGDATABASE", "PGDBNAME", "PGUSER", "user")
                    .forEach((variable, property) -> {
                        if (environment.containsKey(variable)) {
                            words.add(0, property + "=" + environment.get(variable));
                        }
                    });
        }
        Map<String, String> names = Map.of("host", "PGHOST", "port", "PGPORT", "dbname", "PGDBNAME");
        for (String word : words) {
            String[] parts = word.split("=", 2);
            if (parts.length == 1) {
                throw new IllegalArgumentException("argument '" + word + "': use NAME=VALUE, as in host=localhost");
            }
            String property = names.getOrDefault(parts[0], parts[0]);
            // pgjdbc would take its default port instead of a wrong one.
            if (property.equals("PGPORT") && !isPort(parts[1])) {
                throw new IllegalArgumentException("port=" + parts[1] + ": use a number from 1 to 65535");
            }
            source.setProperty(property, parts[1]);
        }
        for (String variable : List.of("LYDITE_PASSWORD", "PGPASSWORD")) {
            if (source.getPassword() == null) {
                source.setPassword(System.getenv(variable));
            }
        }
    }

    private static boolean isPort(String text) {
        try {
            int port = Integer.parseInt(text);
            return port >= 1 && port <= 65_535;
        } catch (NumberFormatException notANumber) {
            return false;
        }
    }

    private static void pause() {
        try {
            Thread.sleep(100);
        } catch (InterruptedException interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void daemon(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (ClosedChannelException closed) {
                // Lydite has closed the connection.
            } catch (IOException error) {
                System.err.println("a session ends: " + error);
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private interface Work {
        void run() throws IOException;
    }

    /** An error in Lydite's words: its kind, and the further fields of that kind. */
    private static final class Refused extends RuntimeException {
        private final Map<String, Object> fields = new LinkedHashMap<>();

        Refused(String kind, String detail, Object... further) {
            super(detail);
            fields.put("kind", kind);
            // One line.
            fields.put("detail", detail.replaceAll("\\s*\n\\s*", "; "));
            fields.putAll(fields(further));
        }
    }

    /** Fields of an answer: names and values by turns. */
    private static Map<String, Object> fields(Object... namesAndValues) {
        Map<String, Object> fields = new LinkedHashMap<>();
        for (int index = 0; index < namesAndValues.length; index += 2) {
            fields.put((String) namesAndValues[index], namesAndValues[index + 1]);
        }
        return fields;
    }

    /** A line of an order as it is entered; `index` is its place in the order, from 0. */
    private record Line(int index, int item, int supply, int quantity) {
        /**
         * The same order of stock for all sessions, so that two orders do not wait for each other in a ring. An unused
         * item comes last, since all other lines must be done before the rollback.
         */
        static final Comparator<Line> BY_STOCK = Comparator.comparing((Line line) -> line.item > ITEMS)
                .thenComparing(Line::supply).thenComparing(Line::item);
    }

    /** One connection of Lydite, and one to the database. */
    private static final class Session {
        private static final ScheduledExecutorService SIGNS = Executors.newSingleThreadScheduledExecutor(work -> {
            Thread thread = new Thread(work);
            thread.setDaemon(true);
            return thread;
        });

        private final PGSimpleDataSource source;
        private final OutputStream sink;
        /** Null until the first connection. */
        private Connection db;
        /** The prepared statements of the connection, by text. */
        private final Map<String, PreparedStatement> statements = new HashMap<>();
        /** True from BEGIN to the end of the transaction. */
        private boolean open;
        /** True once COMMIT is sent: if the connection is lost, the outcome is unknown. */
        private boolean committing;
        /** Table of the cursor; null if no rows are being read. */
        private Table reading;
        private Object request;
        /** Activity of a long statement; null if none is running. */
        private String activity;

        Session(PGSimpleDataSource source, OutputStream sink) {
            this.source = source;
            this.sink = sink;
        }

        // The protocol.

        /** Answers requests until Lydite goes. */
        void serve(InputStream stream) throws IOException {
            DataInputStream in = new DataInputStream(new BufferedInputStream(stream, 1 << 16));
            try {
                while (true) {
                    int size = in.readInt();
                    if (size < 0 || size > LONGEST) {
                        throw new IOException("a message of " + Integer.toUnsignedString(size) + " bytes");
                    }
                    byte[] body = new byte[size];
                    in.readFully(body);
                    Map<String, Object> message = Messages.read(body);
                    request = message.get("id");
                    committing = false;
                    Map<String, Object> answer = fields("id", request);
                    try {
                        answer.put("ok", handle((String) message.get("do"), map(message.get("with"))));
                    } catch (SQLException | RuntimeException error) {
                        answer.put("error", explain(error).fields);
                        rollback();
                    }
                    send(answer);
                }
            } catch (EOFException gone) {
                // Lydite has closed the stream.
            } finally {
                close();
            }
        }

        private synchronized void send(Map<String, Object> message) throws IOException {
            sink.write(Messages.write(message));
            sink.flush();
        }

        private Map<String, Object> handle(String what, Map<String, Object> with) throws SQLException {
            return switch (what) {
                case "hello" -> hello();
                case "state" -> fields("tables", tables(), "notes", notes());
                case "create" -> create(map(with.get("notes")));
                case "drop" -> drop();
                case "note" -> note((String) with.get("name"), with.get("value"));
                case "load_begin" -> loadBegin(number(with, "w_id"));
                case "load" -> load((String) with.get("table"), (List<?>) with.get("rows"));
                case "load_end" -> loadEnd(number(with, "w_id"));
                case "load_abort" -> {
                    rollback();
                    yield fields();
                }
                case "finish" -> finish();
                case "snapshot" -> {
                    begin("READ ONLY");
                    yield fields();
                }
                case "release" -> {
                    stop();
                    commit();
                    yield fields();
                }
                case "read" -> read((String) with.get("table"), (Long) with.get("w_id"));
                case "next" -> next();
                case "stop" -> {
                    stop();
                    yield fields();
                }
                case "new_order" -> newOrder(with);
                case "payment" -> payment(with);
                case "order_status" -> orderStatus(with);
                case "delivery" -> delivery(with);
                case "stock_level" -> stockLevel(with);
                default -> throw new Refused("unsupported", "a driver of transactions has no " + what);
            };
        }

        private Map<String, Object> hello() throws SQLException {
            connect();
            String version = org.postgresql.util.DriverInfo.DRIVER_VERSION;
            boolean durable = one("SHOW fsync").getString(1).equals("on")
                    && one("SHOW synchronous_commit").getString(1).equals("on");
            return fields("protocol", 1, "name", "pgjdbc",
                    "version", version + ", PostgreSQL " + one("SHOW server_version").getString(1),
                    "way", "transactions", "guarantee", "optimistic", "isolation", "repeatable read",
                    "durable", durable, "sessions", 0,
                    "settings", fields("java", Runtime.version().toString(),
                            "prepareThreshold", String.valueOf(source.getPrepareThreshold())));
        }

        /** Returns an error in Lydite's words. */
        private Refused explain(Exception error) {
            if (error instanceof Refused refused) {
                return refused;
            }
            String detail = String.valueOf(error.getMessage() == null ? error : error.getMessage());
            if (error instanceof SQLException sql) {
                String state = String.valueOf(sql.getSQLState());
                detail = state + ": " + detail;
                String reason = switch (state) {
                    case "40001" -> "serialization";
                    case "40P01" -> "deadlock";
                    case "55P03" -> "lock_timeout";
                    default -> null;
                };
                if (reason != null) {
                    return new Refused("aborted", detail, "reason", reason);
                }
                // Codes of a lost connection, and of a server that goes away or takes no connections now.
                if (state.matches("08...|40003|57P0[1235]|53300") || db != null && lost()) {
                    return new Refused("unavailable", detail, "committed", committing ? "unknown" : "no");
                }
            }
            error.printStackTrace();
            if (committing) {
                return new Refused("unavailable", detail, "committed", "unknown");
            }
            return new Refused("fatal", detail);
        }

        // The connection.

        private void connect() throws SQLException {
            statements.clear();
            open = false;
            db = source.getConnection();
        }

        private boolean lost() {
            try {
                return db.isClosed();
            } catch (SQLException error) {
                return true;
            }
        }

        /** Undoes the open transaction, and replaces a lost connection: the session outlives it. */
        private void rollback() {
            reading = null;
            if (db == null) {
                return;
            }
            if (open && !lost()) {
                open = false;
                try {
                    run("ROLLBACK");
                } catch (SQLException error) {
                    // The server rolls back when it sees the end of the connection.
                    close();
                }
            }
            if (lost()) {
                try {
                    connect();
                } catch (SQLException error) {
                    // While the server is away, the next request fails and comes here again.
                    System.err.println("connecting again: " + error.getMessage());
                }
            }
        }

        private void close() {
            try {
                if (db != null) {
                    db.close();
                }
            } catch (SQLException error) {
                System.err.println("closing a connection: " + error.getMessage());
            }
        }

        /**
         * Begins a transaction. The connection is in JDBC's auto-commit mode, and BEGIN is a statement of its own.
         * Otherwise pgjdbc sends BEGIN together with the next statement, one round trip less than the other clients.
         */
        private void begin(String access) throws SQLException {
            open = true;
            run("BEGIN ISOLATION LEVEL REPEATABLE READ " + access);
        }

        private void commit() throws SQLException {
            committing = true;
            run("COMMIT");
            open = false;
        }

        // Statements.

        private PreparedStatement prepared(String sql, Object... values) throws SQLException {
            PreparedStatement statement = statements.get(sql);
            if (statement == null) {
                statement = db.prepareStatement(sql);
                statements.put(sql, statement);
            }
            for (int index = 0; index < values.length; index++) {
                statement.setObject(index + 1, values[index]);
            }
            return statement;
        }

        /** Makes a statement that the server does not keep. */
        private Statement passing() throws SQLException {
            Statement statement = db.createStatement();
            statement.unwrap(PGStatement.class).setPrepareThreshold(0);
            return statement;
        }

        private ResultSet query(String sql, Object... values) throws SQLException {
            return prepared(sql, values).executeQuery();
        }

        /** Returns the only row, which must exist. */
        private ResultSet one(String sql, Object... values) throws SQLException {
            ResultSet row = query(sql, values);
            if (!row.next()) {
                throw new Refused("fatal", "no row: " + sql + " " + Arrays.toString(values) + ": run lydite check");
            }
            return row;
        }

        /** Runs a statement that returns no rows. */
        private void run(String sql, Object... values) throws SQLException {
            prepared(sql, values).executeUpdate();
        }

        /** Runs a statement that must change exactly one row. */
        private void change(String sql, Object... values) throws SQLException {
            int count = prepared(sql, values).executeUpdate();
            if (count != 1) {
                throw new Refused("fatal", count + " rows changed instead of 1: " + sql + " " + Arrays.toString(values)
                        + ": run lydite check");
            }
        }

        /** Runs a long statement, and reports the activity to Lydite meanwhile. */
        private void patiently(String doing, String sql) throws SQLException {
            setActivity(doing);
            ScheduledFuture<?> signs = SIGNS.scheduleAtFixedRate(this::sign, 0, SIGN, TimeUnit.SECONDS);
            try (Statement statement = passing()) {
                statement.execute(sql);
            } finally {
                signs.cancel(false);
                setActivity(null);
            }
        }

        private synchronized void setActivity(String doing) {
            activity = doing;
        }

        /** Sends a sign of life, unless the statement has just ended. */
        private synchronized void sign() {
            if (activity != null) {
                try {
                    send(fields("id", request, "alive", activity));
                } catch (IOException gone) {
                    // Lydite has closed the connection; the answer will fail too.
                }
            }
        }

        // The tables.

        private List<String> tables() throws SQLException {
            List<String> found = new ArrayList<>();
            ResultSet rows = query("SELECT table_name FROM information_schema.tables "
                    + "WHERE table_schema = current_schema()");
            while (rows.next()) {
                found.add(rows.getString(1));
            }
            return TABLES.keySet().stream().filter(found::contains).toList();
        }

        private Map<String, Object> notes() throws SQLException {
            Map<String, Object> notes = new LinkedHashMap<>();
            if (one("SELECT to_regclass('lydite_meta') IS NOT NULL").getBoolean(1)) {
                ResultSet rows = query("SELECT name, value FROM lydite_meta");
                while (rows.next()) {
                    notes.put(rows.getString(1), rows.getString(2));
                }
            }
            return notes;
        }

        private Map<String, Object> note(String name, Object value) throws SQLException {
            run("INSERT INTO lydite_meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
                    name, value);
            return fields();
        }

        /** Makes the tables; their keys follow the rows. */
        private Map<String, Object> create(Map<String, Object> notes) throws SQLException {
            try (Statement statement = passing()) {
                statement.execute(SCHEMA);
            }
            for (Map.Entry<String, Object> note : notes.entrySet()) {
                note(note.getKey(), note.getValue());
            }
            return fields();
        }

        private Map<String, Object> drop() throws SQLException {
            List<String> names = new ArrayList<>(TABLES.keySet());
            names.addAll(List.of("lydite_meta", "lydite_load"));
            for (String name : names) {
                patiently("dropping " + name, "DROP TABLE IF EXISTS " + name + " CASCADE");
            }
            return fields();
        }

        // Loading: a warehouse is one transaction, so an interrupted one leaves nothing.

        private Map<String, Object> loadBegin(int w) throws SQLException {
            begin("READ WRITE");
            // Rows exist only if an earlier load was committed and Lydite did not get the answer.
            if (one("SELECT EXISTS (SELECT FROM lydite_load WHERE unit = ?)", w).getBoolean(1)) {
                for (Map.Entry<String, Table> table : TABLES.entrySet()) {
                    String warehouse = table.getValue().warehouse;
                    if (warehouse.isEmpty() == (w == 0)) {
                        patiently("deleting rows of " + table.getKey(), "DELETE FROM " + table.getKey()
                                + (w == 0 ? "" : " WHERE " + warehouse + " = " + w));
                    }
                }
            }
            return fields();
        }

        private Map<String, Object> load(String name, List<?> rows) throws SQLException {
            List<Column> columns = TABLES.get(name).columns;
            StringBuilder text = new StringBuilder();
            for (Object row : rows) {
                List<?> values = (List<?>) row;
                if (values.size() != columns.size()) {
                    throw new Refused("fatal", "a row of " + name + " has " + values.size() + " columns instead of "
                            + columns.size());
                }
                for (int index = 0; index < columns.size(); index++) {
                    text.append(index == 0 ? "" : "\t").append(copied(columns.get(index).kind, values.get(index)));
                }
                text.append('\n');
            }
            try {
                db.unwrap(PGConnection.class).getCopyAPI().copyIn("COPY " + name + " FROM STDIN",
                        new StringReader(text.toString()));
            } catch (IOException error) {
                throw new IllegalStateException(error);
            }
            return fields();
        }

        private Map<String, Object> loadEnd(int w) throws SQLException {
            run("INSERT INTO lydite_load VALUES (?) ON CONFLICT DO NOTHING", w);
            commit();
            return fields();
        }

        /** Makes keys, indexes and statistics. It may be repeated. */
        private Map<String, Object> finish() throws SQLException {
            for (Map.Entry<String, Table> table : TABLES.entrySet()) {
                if (!table.getValue().key.isEmpty()) {
                    patiently("key of " + table.getKey(), "CREATE UNIQUE INDEX IF NOT EXISTS " + table.getKey()
                            + "_key ON " + table.getKey() + " (" + table.getValue().key + ")");
                }
            }
            for (String index : INDEXES) {
                patiently("index " + index.split(" ")[0], "CREATE INDEX IF NOT EXISTS " + index);
            }
            for (String name : TABLES.keySet()) {
                // VACUUM too: otherwise the first readers of each page set its hint bits, and the first run is slower.
                patiently("statistics of " + name, "VACUUM (ANALYZE) " + name);
            }
            try {
                patiently("checkpoint", "CHECKPOINT");
            } catch (SQLException error) {
                // Without the privilege, the next timed checkpoint does the work.
                if (!"42501".equals(error.getSQLState())) {
                    throw error;
                }
            }
            return fields();
        }

        // The transactions.

        private Map<String, Object> newOrder(Map<String, Object> order) throws SQLException {
            int w = number(order, "w_id");
            int d = number(order, "d_id");
            int c = number(order, "c_id");
            List<Line> lines = new ArrayList<>();
            for (Object each : (List<?>) order.get("lines")) {
                Map<String, Object> line = map(each);
                lines.add(new Line(lines.size(), number(line, "i_id"), number(line, "supply_w_id"),
                        number(line, "quantity")));
            }
            boolean allLocal = lines.stream().allMatch(line -> line.supply == w);
            begin("READ WRITE");
            ResultSet row = one("SELECT w_tax, CURRENT_TIMESTAMP FROM warehouse WHERE w_id = ?", w);
            long wTax = rate(row, 1);
            OffsetDateTime entered = row.getObject(2, OffsetDateTime.class);
            row = one("SELECT c_discount, c_last, c_credit FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                    w, d, c);
            long discount = rate(row, 1);
            String last = row.getString(2);
            String credit = row.getString(3);
            row = one("SELECT d_tax, d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ? FOR NO KEY UPDATE", w, d);
            long dTax = rate(row, 1);
            int o = row.getInt(2);
            change("UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?", w, d);
            change("INSERT INTO orders VALUES (?, ?, ?, ?, ?, NULL, ?, ?)",
                    o, d, w, c, entered, lines.size(), allLocal ? 1 : 0);
            change("INSERT INTO new_order VALUES (?, ?, ?)", o, d, w);
            String stock = String.format("SELECT s_quantity, s_data, s_dist_%02d FROM stock "
                    + "WHERE s_w_id = ? AND s_i_id = ? FOR NO KEY UPDATE", d);
            Object[] shown = new Object[lines.size()];
            long sum = 0;
            for (Line line : lines.stream().sorted(Line.BY_STOCK).toList()) {
                ResultSet item = query("SELECT i_price, i_name, i_data FROM item WHERE i_id = ?", line.item);
                if (!item.next()) {
                    throw new Refused("rolled_back", "item number is not valid",
                            "order", fields("o_id", o, "c_last", last, "c_credit", credit));
                }
                long price = cents(item, 1);
                String name = item.getString(2);
                String data = item.getString(3);
                row = one(stock, line.supply, line.item);
                int left = row.getInt(1) - line.quantity;
                if (left < 10) {
                    left += 91;
                }
                String stockData = row.getString(2);
                String info = row.getString(3);
                change("UPDATE stock SET s_quantity = ?, s_ytd = s_ytd + ?, s_order_cnt = s_order_cnt + 1, "
                                + "s_remote_cnt = s_remote_cnt + ? WHERE s_w_id = ? AND s_i_id = ?",
                        left, line.quantity, line.supply == w ? 0 : 1, line.supply, line.item);
                long amount = price * line.quantity;
                change("INSERT INTO order_line VALUES (?, ?, ?, ?, ?, ?, NULL, ?, ?, ?)",
                        o, d, w, line.index + 1, line.item, line.supply, line.quantity, money(amount), info);
                boolean brand = data.contains("ORIGINAL") && stockData.contains("ORIGINAL");
                shown[line.index] = fields("i_name", name, "s_quantity", left, "brand", brand, "i_price", price,
                        "amount", amount);
                sum += amount;
            }
            commit();
            return fields("o_id", o, "entry_d", micros(entered), "c_last", last, "c_credit", credit,
                    "c_discount", discount, "w_tax", wTax, "d_tax", dTax,
                    "total", total(sum, discount, wTax, dTax), "lines", Arrays.asList(shown));
        }

        /** Returns C_ID of the customer of a request, who has either a number or a last name. */
        private int customer(int w, int d, Map<String, Object> who) throws SQLException {
            if (who.get("c_id") != null) {
                return number(who, "c_id");
            }
            ResultSet rows = query("SELECT c_id FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_last = ? "
                    + "ORDER BY c_first COLLATE \"C\", c_id", w, d, who.get("c_last"));
            List<Integer> found = new ArrayList<>();
            while (rows.next()) {
                found.add(rows.getInt(1));
            }
            if (found.isEmpty()) {
                throw new Refused("fatal", "no customer " + who.get("c_last") + " in district " + w + "/" + d
                        + ": run lydite check");
            }
            return found.get((found.size() + 1) / 2 - 1);
        }

        private Map<String, Object> payment(Map<String, Object> payment) throws SQLException {
            int w = number(payment, "w_id");
            int d = number(payment, "d_id");
            int cw = number(payment, "c_w_id");
            int cd = number(payment, "c_d_id");
            BigDecimal amount = money((Long) payment.get("h_amount"));
            begin("READ WRITE");
            int c = customer(cw, cd, payment);
            ResultSet row = one("SELECT c_first, c_middle, c_last, c_street_1, c_street_2, c_city, c_state, c_zip, "
                    + "c_phone, c_since, c_credit, c_credit_lim, c_discount, c_balance FROM customer "
                    + "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? FOR NO KEY UPDATE", cw, cd, c);
            String credit = row.getString(11);
            Map<String, Object> answer = fields("c_id", c, "c_first", row.getString(1), "c_middle", row.getString(2),
                    "c_last", row.getString(3), "address", address(row, 4), "c_phone", row.getString(9),
                    "c_since", micros(row.getObject(10, OffsetDateTime.class)), "c_credit", credit,
                    "c_credit_lim", cents(row, 12), "c_discount", rate(row, 13),
                    "c_balance", units(row.getBigDecimal(14).subtract(amount), 2), "c_data", null);
            if (credit.equals("BC")) {
                String old = one("SELECT c_data FROM customer WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", cw, cd, c)
                        .getString(1);
                String data = cut(c + " " + cd + " " + cw + " " + d + " " + w + " " + amount.toPlainString() + "|"
                        + old, 500);
                change("UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, "
                                + "c_payment_cnt = c_payment_cnt + 1, c_data = ? "
                                + "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, amount, data, cw, cd, c);
                answer.put("c_data", cut(data, 200));
            } else {
                change("UPDATE customer SET c_balance = c_balance - ?, c_ytd_payment = c_ytd_payment + ?, "
                        + "c_payment_cnt = c_payment_cnt + 1 WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
                        amount, amount, cw, cd, c);
            }
            change("UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?", amount, w, d);
            row = one("SELECT d_street_1, d_street_2, d_city, d_state, d_zip, d_name FROM district "
                    + "WHERE d_w_id = ? AND d_id = ?", w, d);
            answer.put("district", address(row, 1));
            String dName = row.getString(6);
            change("UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?", amount, w);
            row = one("SELECT w_street_1, w_street_2, w_city, w_state, w_zip, w_name, CURRENT_TIMESTAMP FROM warehouse "
                    + "WHERE w_id = ?", w);
            answer.put("warehouse", address(row, 1));
            String wName = row.getString(6);
            OffsetDateTime paid = row.getObject(7, OffsetDateTime.class);
            answer.put("h_date", micros(paid));
            change("INSERT INTO history VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                    c, cd, cw, d, w, paid, amount, wName + "    " + dName);
            commit();
            return answer;
        }

        private Map<String, Object> orderStatus(Map<String, Object> query) throws SQLException {
            int w = number(query, "w_id");
            int d = number(query, "d_id");
            begin("READ ONLY");
            int c = customer(w, d, query);
            ResultSet row = one("SELECT c_first, c_middle, c_last, c_balance FROM customer "
                    + "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", w, d, c);
            Map<String, Object> answer = fields("c_id", c, "c_first", row.getString(1), "c_middle", row.getString(2),
                    "c_last", row.getString(3), "c_balance", cents(row, 4));
            row = one("SELECT o_id, o_entry_d, o_carrier_id FROM orders "
                    + "WHERE o_w_id = ? AND o_d_id = ? AND o_c_id = ? ORDER BY o_id DESC LIMIT 1", w, d, c);
            int o = row.getInt(1);
            answer.put("o_id", o);
            answer.put("entry_d", micros(row.getObject(2, OffsetDateTime.class)));
            answer.put("carrier_id", row.getObject(3));
            ResultSet rows = query("SELECT ol_i_id, ol_supply_w_id, ol_quantity, ol_amount, ol_delivery_d "
                    + "FROM order_line WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ? ORDER BY ol_number", w, d, o);
            List<Object> lines = new ArrayList<>();
            while (rows.next()) {
                OffsetDateTime delivered = rows.getObject(5, OffsetDateTime.class);
                lines.add(fields("i_id", rows.getInt(1), "supply_w_id", rows.getInt(2), "quantity", rows.getInt(3),
                        "amount", cents(rows, 4), "delivery_d", delivered == null ? null : micros(delivered)));
            }
            answer.put("lines", lines);
            commit();
            return answer;
        }

        private Map<String, Object> delivery(Map<String, Object> delivery) throws SQLException {
            int w = number(delivery, "w_id");
            int carrier = number(delivery, "o_carrier_id");
            List<Object> delivered = new ArrayList<>();
            begin("READ WRITE");
            for (int d = 1; d <= 10; d++) {
                ResultSet oldest = query("SELECT no_o_id FROM new_order WHERE no_w_id = ? AND no_d_id = ? "
                        + "ORDER BY no_o_id LIMIT 1 FOR NO KEY UPDATE", w, d);
                if (!oldest.next()) {
                    continue;
                }
                int o = oldest.getInt(1);
                change("DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id = ?", w, d, o);
                change("UPDATE orders SET o_carrier_id = ? WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?",
                        carrier, w, d, o);
                int c = one("SELECT o_c_id FROM orders WHERE o_w_id = ? AND o_d_id = ? AND o_id = ?", w, d, o)
                        .getInt(1);
                run("UPDATE order_line SET ol_delivery_d = CURRENT_TIMESTAMP "
                        + "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, o);
                BigDecimal amount = one("SELECT sum(ol_amount) FROM order_line "
                        + "WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id = ?", w, d, o).getBigDecimal(1);
                change("UPDATE customer SET c_balance = c_balance + ?, c_delivery_cnt = c_delivery_cnt + 1 "
                        + "WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?", amount, w, d, c);
                delivered.add(List.of(d, o));
            }
            commit();
            return fields("delivered", delivered);
        }

        private Map<String, Object> stockLevel(Map<String, Object> query) throws SQLException {
            int w = number(query, "w_id");
            int d = number(query, "d_id");
            begin("READ ONLY");
            int next = one("SELECT d_next_o_id FROM district WHERE d_w_id = ? AND d_id = ?", w, d).getInt(1);
            long low = one("SELECT count(DISTINCT s_i_id) FROM order_line JOIN stock ON s_w_id = ol_w_id "
                    + "AND s_i_id = ol_i_id WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id >= ? AND ol_o_id < ? "
                    + "AND s_quantity < ?", w, d, next - 20, next, number(query, "threshold")).getLong(1);
            commit();
            return fields("low_stock", low);
        }

        // Reading back, between `snapshot` and `release`.

        private Map<String, Object> read(String name, Long w) throws SQLException {
            stop();
            Table table = TABLES.get(name);
            String columns = table.columns.stream().map(Column::name).collect(Collectors.joining(", "));
            String where = w == null || table.warehouse.isEmpty() ? "" : " WHERE " + table.warehouse + " = " + w;
            try (Statement statement = passing()) {
                // A cursor of the server: otherwise all rows would come at once.
                statement.execute("DECLARE lydite_rows CURSOR FOR SELECT " + columns + " FROM " + name + where);
            }
            reading = table;
            return next();
        }

        private Map<String, Object> next() throws SQLException {
            List<Object> rows = new ArrayList<>(BATCH);
            if (reading != null) {
                try (Statement statement = passing();
                        ResultSet found = statement.executeQuery("FETCH " + BATCH + " FROM lydite_rows")) {
                    while (found.next()) {
                        List<Object> row = new ArrayList<>(reading.columns.size());
                        for (Column column : reading.columns) {
                            row.add(value(column.kind, found, row.size() + 1));
                        }
                        rows.add(row);
                    }
                }
                if (rows.size() < BATCH) {
                    stop();
                }
            }
            return fields("rows", rows, "more", reading != null);
        }

        private void stop() throws SQLException {
            if (reading != null) {
                reading = null;
                try (Statement statement = passing()) {
                    statement.execute("CLOSE lydite_rows");
                }
            }
        }
    }

    // Values.

    /** Returns a field that must be a number. */
    private static int number(Map<String, Object> with, String name) {
        return Math.toIntExact((Long) with.get(name));
    }

    /** Returns an exact number in units of its last place. */
    private static long units(BigDecimal number, int places) {
        return number.setScale(places, RoundingMode.UNNECESSARY).unscaledValue().longValueExact();
    }

    private static long cents(ResultSet row, int column) throws SQLException {
        return units(row.getBigDecimal(column), 2);
    }

    private static long rate(ResultSet row, int column) throws SQLException {
        return units(row.getBigDecimal(column), 4);
    }

    private static BigDecimal money(long cents) {
        return BigDecimal.valueOf(cents, 2);
    }

    private static long micros(OffsetDateTime time) {
        return ChronoUnit.MICROS.between(Instant.EPOCH, time.toInstant());
    }

    /** Returns the address in five columns from `first` on. */
    private static Map<String, Object> address(ResultSet row, int first) throws SQLException {
        return fields("street_1", row.getString(first), "street_2", row.getString(first + 1),
                "city", row.getString(first + 2), "state", row.getString(first + 3), "zip", row.getString(first + 4));
    }

    /** Returns at most `most` characters of a text. */
    private static String cut(String text, int most) {
        boolean fits = text.codePointCount(0, text.length()) <= most;
        return fits ? text : text.substring(0, text.offsetByCodePoints(0, most));
    }

    /** Returns the total of an order in cents (clause 2.4.2.2), rounded once, half away from zero. */
    private static long total(long sum, long discount, long wTax, long dTax) {
        return BigDecimal.valueOf(sum).multiply(BigDecimal.valueOf(10_000 - discount, 4))
                .multiply(BigDecimal.valueOf(10_000 + wTax + dTax, 4))
                .setScale(0, RoundingMode.HALF_UP).longValueExact();
    }

    /** Returns a column as Lydite reads it. */
    private static Object value(String kind, ResultSet row, int column) throws SQLException {
        Object value = switch (kind) {
            case "money", "rate" -> row.getBigDecimal(column);
            case "time" -> row.getObject(column, OffsetDateTime.class);
            case "text" -> row.getString(column);
            default -> row.getLong(column);
        };
        if (row.wasNull()) {
            return null;
        }
        return switch (kind) {
            case "money" -> units((BigDecimal) value, 2);
            case "rate" -> units((BigDecimal) value, 4);
            case "time" -> micros((OffsetDateTime) value);
            default -> value;
        };
    }

    /** Returns a column in COPY's text format. */
    private static String copied(String kind, Object value) {
        if (value == null) {
            return "\\N";
        }
        return switch (kind) {
            case "money" -> BigDecimal.valueOf((Long) value, 2).toPlainString();
            case "rate" -> BigDecimal.valueOf((Long) value, 4).toPlainString();
            case "time" -> Instant.EPOCH.plus((Long) value, ChronoUnit.MICROS).toString();
            case "text" -> ((String) value).replace("\\", "\\\\").replace("\t", "\\t").replace("\n", "\\n")
                    .replace("\r", "\\r");
            default -> value.toString();
        };
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> map(Object map) {
        return map == null ? Map.of() : (Map<String, Object>) map;
    }

    /** The messages of the protocol: a length in four bytes, and MessagePack. */
    private static final class Messages {
        static Map<String, Object> read(byte[] body) throws IOException {
            try (MessageUnpacker in = MessagePack.newDefaultUnpacker(body)) {
                return map(value(in));
            }
        }

        private static Object value(MessageUnpacker in) throws IOException {
            switch (in.getNextFormat().getValueType()) {
                case NIL -> {
                    in.unpackNil();
                    return null;
                }
                case BOOLEAN -> {
                    return in.unpackBoolean();
                }
                case INTEGER -> {
                    return in.unpackLong();
                }
                case STRING -> {
                    return in.unpackString();
                }
                case ARRAY -> {
                    int size = in.unpackArrayHeader();
                    List<Object> list = new ArrayList<>();
                    for (int index = 0; index < size; index++) {
                        list.add(value(in));
                    }
                    return list;
                }
                case MAP -> {
                    int size = in.unpackMapHeader();
                    Map<String, Object> map = new HashMap<>();
                    for (int index = 0; index < size; index++) {
                        map.put(in.unpackString(), value(in));
                    }
                    return map;
                }
                default -> throw new IOException("a message has a " + in.getNextFormat());
            }
        }

        static byte[] write(Map<String, Object> message) throws IOException {
            ByteArrayOutputStream out = new ByteArrayOutputStream();
            out.write(new byte[4]);
            try (MessagePacker packer = MessagePack.newDefaultPacker(out)) {
                pack(packer, message);
            }
            byte[] bytes = out.toByteArray();
            ByteBuffer.wrap(bytes).putInt(bytes.length - 4);
            return bytes;
        }

        private static void pack(MessagePacker out, Object value) throws IOException {
            if (value == null) {
                out.packNil();
            } else if (value instanceof Boolean truth) {
                out.packBoolean(truth);
            } else if (value instanceof Number number) {
                out.packLong(number.longValue());
            } else if (value instanceof List<?> list) {
                out.packArrayHeader(list.size());
                for (Object each : list) {
                    pack(out, each);
                }
            } else if (value instanceof Map<?, ?> map) {
                out.packMapHeader(map.size());
                for (Map.Entry<?, ?> entry : map.entrySet()) {
                    out.packString((String) entry.getKey());
                    pack(out, entry.getValue());
                }
            } else {
                out.packString((String) value);
            }
        }
    }
}
