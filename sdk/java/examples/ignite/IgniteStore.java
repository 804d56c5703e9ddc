// A driver for Lydite in Java, without an SDK: Apache Ignite 3 as a key-value store. See README.md.

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
import java.net.StandardProtocolFamily;
import java.net.UnixDomainSocketAddress;
import java.nio.ByteBuffer;
import java.nio.channels.Channels;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.ServerSocketChannel;
import java.nio.channels.SocketChannel;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.apache.ignite.client.IgniteClient;
import org.apache.ignite.client.IgniteClientConnectionException;
import org.apache.ignite.lang.ErrorGroups;
import org.apache.ignite.lang.TraceableException;
import org.apache.ignite.sql.ResultSet;
import org.apache.ignite.sql.SqlRow;
import org.apache.ignite.sql.Statement;
import org.apache.ignite.table.KeyValueView;
import org.apache.ignite.table.Tuple;
import org.apache.ignite.tx.Transaction;
import org.apache.ignite.tx.TransactionOptions;
import org.msgpack.core.MessagePack;
import org.msgpack.core.MessagePacker;
import org.msgpack.core.MessageUnpacker;

/** One process for all sessions: each a thread with transactions of its own, over one client of Ignite. */
public final class IgniteStore {
    /** Made at once: a transaction does not see a table that is made after it began. */
    private static final List<String> TABLES = List.of("lydite_meta", "item", "warehouse", "district", "customer",
            "history", "orders", "new_order", "order_line", "stock", "customer_by_name", "orders_by_customer");

    private final IgniteClient ignite;
    /** One table for each of Lydite's: a scan in a writing transaction locks all of its table. */
    private final Map<String, KeyValueView<Tuple, Tuple>> tables = new HashMap<>();
    private final String addresses;

    private IgniteStore(String addresses) {
        this.addresses = addresses;
        ignite = IgniteClient.builder().addresses(addresses.split(",")).build();
        // With one partition a scan comes back in order, from one node.
        run("CREATE ZONE IF NOT EXISTS LYDITE (PARTITIONS 1, REPLICAS 1) STORAGE PROFILES ['default']");
        TABLES.forEach(this::entries);
    }

    /** The keys and values of one of Lydite's tables, which is made if it is not there. */
    private synchronized KeyValueView<Tuple, Tuple> entries(Object table) {
        return tables.computeIfAbsent((String) table, name -> {
            run("CREATE TABLE IF NOT EXISTS " + named(name) + " (K VARBINARY(256), V VARBINARY(4096) NOT NULL, "
                    + "PRIMARY KEY USING SORTED (K)) ZONE LYDITE");
            return ignite.tables().table(named(name)).keyValueView();
        });
    }

    /** Lydite's names are letters and underscores. */
    private static String named(Object table) {
        return "LYDITE_KV_" + ((String) table).toUpperCase(Locale.ROOT);
    }

    private synchronized void clear(Object table) {
        tables.remove((String) table);
        run("DROP TABLE IF EXISTS " + named(table));
        entries(table);
    }

    private void run(String statement) {
        ignite.sql().execute(null, statement).close();
    }

    public static void main(String[] arguments) throws IOException {
        // Whatever is printed would be no message: it goes to standard error.
        OutputStream out = new FileOutputStream(FileDescriptor.out);
        System.setOut(new PrintStream(new FileOutputStream(FileDescriptor.err), true));
        String path = System.getenv("LYDITE_SOCKET");
        if (path == null) {
            System.err.println("this is a driver: it is started by Lydite, as in: lydite driver test driver:./ignite");
            System.exit(2);
        }
        ServerSocketChannel listener = ServerSocketChannel.open(StandardProtocolFamily.UNIX);
        listener.bind(UnixDomainSocketAddress.of(path));
        String given = System.getenv("IGNITE_ADDRESSES");
        String addresses = given == null ? "127.0.0.1:10800" : given;
        Lazy<IgniteStore> store = new Lazy<>(() -> new IgniteStore(addresses));
        daemon(() -> {
            while (true) {
                SocketChannel channel;
                try {
                    channel = listener.accept();
                } catch (ClosedChannelException closed) {
                    return;
                } catch (IOException error) {
                    // Too many files are open, perhaps: others will be closed.
                    System.err.println("a session can't be accepted: " + error);
                    pause();
                    continue;
                }
                daemon(() -> {
                    try (channel) {
                        new Session(store).serve(Channels.newInputStream(channel), Channels.newOutputStream(channel));
                    }
                });
            }
        });
        new Session(store).serve(new FileInputStream(FileDescriptor.in), out);
        // Lydite has gone. Other sessions, and what they wait for, end with the process.
        Runtime.getRuntime().halt(0);
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
            } catch (IOException error) {
                // Lydite has closed the connection.
            }
        });
        thread.setDaemon(true);
        thread.start();
    }

    private interface Work {
        void run() throws IOException;
    }

    /** What is made when it is first wanted, and again if that failed: errors belong into the answer to `hello`. */
    private static final class Lazy<T> {
        private final java.util.function.Supplier<T> make;
        private T made;

        Lazy(java.util.function.Supplier<T> make) {
            this.make = make;
        }

        synchronized T get() {
            if (made == null) {
                made = make.get();
            }
            return made;
        }
    }

    /** A request that the driver does not have. */
    private static final class Unsupported extends RuntimeException {
        Unsupported(String message) {
            super(message);
        }
    }

    /** One connection of Lydite. */
    private static final class Session {
        private final Lazy<IgniteStore> lazy;
        private IgniteStore store;
        private Transaction tx;
        /** Whether the commit is on its way: what becomes of it is not known if the server goes away. */
        private boolean committing;

        Session(Lazy<IgniteStore> lazy) {
            this.lazy = lazy;
        }

        /** Answers requests until Lydite goes. */
        void serve(InputStream source, OutputStream sink) throws IOException {
            DataInputStream in = new DataInputStream(new BufferedInputStream(source, 1 << 16));
            try {
                while (true) {
                    byte[] body = new byte[in.readInt()];
                    in.readFully(body);
                    Map<String, Object> request = Messages.read(body);
                    Map<String, Object> answer = new LinkedHashMap<>();
                    answer.put("id", request.get("id"));
                    try {
                        answer.put("ok", handle((String) request.get("do"), fields(request.get("with"))));
                    } catch (RuntimeException error) {
                        answer.put("error", refusal(error));
                        abort();
                    }
                    sink.write(Messages.write(answer));
                    sink.flush();
                }
            } catch (EOFException gone) {
                abort();
            }
        }

        private Map<String, Object> handle(String what, Map<String, Object> with) {
            if (what.equals("hello")) {
                store = lazy.get();
                return hello();
            }
            committing = false;
            if (with.get("begin") != null) {
                begin(with.get("begin").equals("read"));
            }
            switch (what) {
                case "get" -> {
                    Map<String, Object> answer = new HashMap<>();
                    answer.put("value", get(with.get("table"), with.get("key")));
                    return answer;
                }
                case "scan" -> {
                    return Map.of("entries", scan(with));
                }
                case "write" -> write(with);
                case "commit" -> {
                    write(with);
                    committing = true;
                    tx.commit();
                    tx = null;
                }
                case "abort" -> abort();
                case "clear" -> store.clear(with.get("table"));
                default -> throw new Unsupported("the driver has no " + what);
            }
            return Map.of();
        }

        private void begin(boolean reading) {
            // Reading is on a snapshot, without locks.
            tx = store.ignite.transactions().begin(reading ? new TransactionOptions().readOnly(true) : null);
            if (!reading) {
                // The client begins a transaction with the first request in it; and if that one loses against a lock,
                // `rollback` waits for ever (Ignite 3.1.0). This one can't lose.
                store.ignite.sql().execute(tx, "SELECT 1").close();
            }
        }

        private Map<String, Object> hello() {
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("protocol", 1);
            said.put("name", "ignite");
            said.put("version", "by client " + clientVersion());
            said.put("way", "key-value");
            said.put("guarantee", "serializable");
            said.put("isolation", "serializable, by locks; snapshots for reading");
            // The log of the default storage is not synchronised with every commit.
            said.put("durable", false);
            said.put("sessions", 0);
            said.put("settings", Map.of("addresses", store.addresses, "replicas", "1"));
            return said;
        }

        /** As its jar is named: a client is not told what the server is. */
        private static String clientVersion() {
            String jar = IgniteClient.class.getProtectionDomain().getCodeSource().getLocation().getPath();
            return jar.replaceAll(".*-([0-9][^/]*)[.]jar", "$1");
        }

        /** By SQL: if {@code entries.get} loses against a lock, the client closes its connection (Ignite 3.1.0). */
        private byte[] get(Object table, Object key) {
            store.entries(table);
            String query = "SELECT V FROM " + named(table) + " WHERE K = ?";
            try (ResultSet<SqlRow> rows = store.ignite.sql().execute(tx, query, key)) {
                return rows.hasNext() ? rows.next().bytesValue(0) : null;
            }
        }

        private List<Object> scan(Map<String, Object> with) {
            boolean backward = (Boolean) with.get("backward");
            String order = backward ? "DESC" : "ASC";
            store.entries(with.get("table"));
            List<Object> values = new ArrayList<>(List.of(with.get("from")));
            if (with.get("below") != null) {
                values.add(with.get("below"));
            }
            values.add(with.get("limit"));
            String query = "SELECT K, V FROM " + named(with.get("table")) + " WHERE K >= ?"
                    + (with.get("below") == null ? "" : " AND K < ?") + " ORDER BY K " + order + " LIMIT ?";
            // All in one answer.
            int limit = ((Long) with.get("limit")).intValue();
            Statement statement = store.ignite.sql().statementBuilder().query(query).pageSize(limit).build();
            List<Object> found = new ArrayList<>();
            try (ResultSet<SqlRow> rows = store.ignite.sql().execute(tx, statement, values.toArray())) {
                while (rows.hasNext()) {
                    SqlRow row = rows.next();
                    found.add(List.of(row.bytesValue(0), row.bytesValue(1)));
                }
            }
            return found;
        }

        /** What is written together goes in two requests for each table: all values, and what is deleted. */
        private void write(Map<String, Object> with) {
            Map<Object, Map<Tuple, Tuple>> put = new LinkedHashMap<>();
            Map<Object, Map<Tuple, Tuple>> deleted = new LinkedHashMap<>();
            for (Object each : (List<?>) with.get("writes")) {
                List<?> write = (List<?>) each;
                Tuple key = Tuple.create().set("K", write.get(1));
                Map<Tuple, Tuple> puts = put.computeIfAbsent(write.get(0), table -> new LinkedHashMap<>());
                Map<Tuple, Tuple> deletes = deleted.computeIfAbsent(write.get(0), table -> new LinkedHashMap<>());
                // The last word on a key counts.
                puts.remove(key);
                deletes.remove(key);
                if (write.get(2) == null) {
                    deletes.put(key, key);
                } else {
                    puts.put(key, Tuple.create().set("V", write.get(2)));
                }
            }
            put.forEach((table, entries) -> {
                if (!entries.isEmpty()) {
                    store.entries(table).putAll(tx, entries);
                }
            });
            deleted.forEach((table, entries) -> {
                if (!entries.isEmpty()) {
                    store.entries(table).removeAll(tx, entries.keySet());
                }
            });
        }

        private void abort() {
            if (tx != null) {
                Transaction over = tx;
                tx = null;
                try {
                    over.rollback();
                } catch (RuntimeException error) {
                    System.err.println("rolling back: " + error);
                }
            }
        }

        /** Why Ignite gave a transaction up that may be sent again; null for any other error. */
        private String reason(TraceableException error) {
            int code = error.code();
            if (code == ErrorGroups.Transactions.ACQUIRE_LOCK_ERR) {
                return "deadlock";
            }
            if (code == ErrorGroups.Transactions.ACQUIRE_LOCK_TIMEOUT_ERR) {
                return "lock_timeout";
            }
            // It took longer than a transaction may, or the node that leads a partition has changed.
            if (code == ErrorGroups.Transactions.TX_ALREADY_FINISHED_WITH_TIMEOUT_ERR
                    || code == ErrorGroups.Transactions.TX_PRIMARY_REPLICA_EXPIRED_ERR) {
                return "other";
            }
            // The server ended it, because it lost against another one; a later request finds it gone.
            boolean aborted = !committing || String.valueOf(((Throwable) error).getMessage()).contains("txState=ABORTED");
            if (code == ErrorGroups.Transactions.TX_ALREADY_FINISHED_ERR && aborted) {
                return "other";
            }
            return null;
        }

        /** An error in Lydite's words. */
        private Map<String, Object> refusal(RuntimeException error) {
            Map<String, Object> said = new LinkedHashMap<>();
            said.put("kind", "fatal");
            said.put("detail", String.valueOf(error.getMessage() == null ? error : error.getMessage()));
            if (error instanceof Unsupported) {
                said.put("kind", "unsupported");
            }
            for (Throwable cause = error; cause != null; cause = cause.getCause()) {
                if (cause instanceof IgniteClientConnectionException) {
                    said.put("kind", "unavailable");
                    said.put("committed", committing ? "unknown" : "no");
                    return said;
                }
                String reason = cause instanceof TraceableException known ? reason(known) : null;
                if (reason != null) {
                    said.put("kind", "aborted");
                    said.put("reason", reason);
                    return said;
                }
            }
            if (said.get("kind").equals("fatal")) {
                error.printStackTrace();
                if (committing) {
                    // It may have been committed, and then something went wrong.
                    said.put("kind", "unavailable");
                    said.put("committed", "unknown");
                }
            }
            return said;
        }
    }

    @SuppressWarnings("unchecked")
    private static Map<String, Object> fields(Object map) {
        return map == null ? Map.of() : (Map<String, Object>) map;
    }

    /** The messages of the protocol: a length in four bytes, and MessagePack. */
    private static final class Messages {
        static Map<String, Object> read(byte[] body) throws IOException {
            try (MessageUnpacker in = MessagePack.newDefaultUnpacker(body)) {
                return fields(value(in));
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
                case BINARY -> {
                    return in.readPayload(in.unpackBinaryHeader());
                }
                case ARRAY -> {
                    int size = in.unpackArrayHeader();
                    List<Object> list = new ArrayList<>(size);
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
            } else if (value instanceof byte[] bytes) {
                out.packBinaryHeader(bytes.length);
                out.writePayload(bytes);
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
