import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.ConsumerRecords;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.KafkaShareConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.clients.producer.RecordMetadata;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.Metric;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;
import org.apache.kafka.common.utils.Exit;

/**
 * Apache Kafka's Java clients and tools, asked for over standard input: a JSON object a line, an answer a line. One
 * process serves many questions, since a JVM takes seconds to start. Bytes are in Base64; what goes wrong is an answer
 * with "error".
 */
public class JavaClients {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final long TIMEOUT_NS = 60_000_000_000L;
    private static final Duration POLL = Duration.ofMillis(200);

    public static void main(String[] arguments) throws Exception {
        BufferedReader questions = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream answers = System.out;
        System.setOut(System.err);
        for (String line = questions.readLine(); line != null; line = questions.readLine()) {
            answers.println(JSON.writeValueAsString(answer(JSON.readTree(line))));
            answers.flush();
        }
    }

    private static ObjectNode answer(JsonNode question) {
        try {
            return switch (question.get("do").asText()) {
                case "produce" -> produce(question);
                case "consume" -> consume(question);
                case "offsets" -> offsets(question);
                case "tool" -> tool(question);
                case "produce_load" -> produceLoad(question);
                case "transactions" -> transactions(question);
                case "consume_load" -> consumeLoad(question);
                case "share_poll" -> sharePoll(question);
                case "join_group" -> joinGroup(question);
                case "member_partitions" -> memberPartitions(question);
                case "member_commit" -> memberCommit(question);
                case "leave_group" -> leaveGroup(question);
                default -> throw new IllegalArgumentException(question.get("do").asText());
            };
        } catch (Exception error) {
            error.printStackTrace();
            return JSON.createObjectNode().put("error", error.toString());
        }
    }

    // Records

    private static ObjectNode produce(JsonNode question) throws Exception {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode sent = answer.putArray("sent");
        try (KafkaProducer<byte[], byte[]> producer = producer(question)) {
            List<Future<RecordMetadata>> futures = new ArrayList<>();
            for (JsonNode record : question.get("records")) {
                futures.add(producer.send(record(question.get("topic").asText(), record)));
            }
            for (Future<RecordMetadata> future : futures) {
                sent.add(outcome(future));
            }
        }
        return answer;
    }

    private static ObjectNode outcome(Future<RecordMetadata> future) throws InterruptedException {
        ObjectNode outcome = JSON.createObjectNode();
        try {
            RecordMetadata metadata = future.get();
            outcome.put("partition", metadata.partition());
            outcome.put("offset", metadata.offset()).put("timestamp", metadata.timestamp());
        } catch (ExecutionException error) {
            outcome.put("error", error.getCause().getClass().getSimpleName());
        }
        return outcome;
    }

    private static ProducerRecord<byte[], byte[]> record(String topic, JsonNode given) throws Exception {
        List<Header> headers = new ArrayList<>();
        for (JsonNode header : given.path("headers")) {
            headers.add(new RecordHeader(header.get(0).asText(), header.get(1).binaryValue()));
        }
        Integer partition = given.hasNonNull("partition") ? (Integer) given.get("partition").asInt() : null;
        Long timestamp = given.hasNonNull("timestamp") ? (Long) given.get("timestamp").asLong() : null;
        byte[] key = given.path("key").binaryValue();
        return new ProducerRecord<>(topic, partition, timestamp, key, given.path("value").binaryValue(), headers);
    }

    private static ObjectNode consume(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode found = answer.putArray("records");
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(question)) {
            long deadlineNs = System.nanoTime() + TIMEOUT_NS;
            while (found.size() < question.get("count").asInt() && System.nanoTime() < deadlineNs) {
                for (ConsumerRecord<byte[], byte[]> record : consumer.poll(POLL)) {
                    found.add(told(record));
                }
            }
            ObjectNode bytes = answer.putObject("bytes_of_node");
            for (Metric metric : consumer.metrics().values()) {
                if (metric.metricName().name().equals("incoming-byte-total")
                    && metric.metricName().tags().containsKey("node-id")) {
                    bytes.put(metric.metricName().tags().get("node-id"), ((Double) metric.metricValue()).longValue());
                }
            }
        }
        return answer;
    }

    private static ObjectNode told(ConsumerRecord<byte[], byte[]> record) {
        ObjectNode told = JSON.createObjectNode();
        told.put("partition", record.partition()).put("offset", record.offset());
        told.put("timestamp", record.timestamp()).put("timestamp_type", record.timestampType().toString());
        told.put("key", record.key()).put("value", record.value());
        ArrayNode headers = told.putArray("headers");
        for (Header header : record.headers()) {
            headers.addArray().add(header.key()).add(header.value());
        }
        return told;
    }

    /** Of every partition: where it begins, where it ends, and the first offset at or after a time. */
    private static ObjectNode offsets(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(question)) {
            Map<TopicPartition, Long> first = consumer.beginningOffsets(consumer.assignment());
            Map<TopicPartition, Long> end = consumer.endOffsets(consumer.assignment());
            Map<TopicPartition, Long> times = new HashMap<>();
            consumer.assignment().forEach(partition -> times.put(partition, question.get("timestamp").asLong()));
            consumer.offsetsForTimes(times).forEach((partition, at) -> answer.putArray("" + partition.partition())
                .add(first.get(partition)).add(end.get(partition)).add(at == null ? -1 : at.offset()));
        }
        return answer;
    }

    private static KafkaProducer<byte[], byte[]> producer(JsonNode question) {
        return new KafkaProducer<>(config(question), new ByteArraySerializer(), new ByteArraySerializer());
    }

    /** With all partitions of the question assigned, from the offset that it names. */
    private static KafkaConsumer<byte[], byte[]> consumer(JsonNode question) {
        Map<String, Object> config = config(question);
        KafkaConsumer<byte[], byte[]> consumer =
            new KafkaConsumer<>(config, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        List<TopicPartition> partitions = new ArrayList<>();
        for (int number = 0; number < question.get("partitions").asInt(); number++) {
            partitions.add(new TopicPartition(question.get("topic").asText(), number));
        }
        consumer.assign(partitions);
        partitions.forEach(partition -> consumer.seek(partition, question.path("offset").asLong(0)));
        return consumer;
    }

    private static Map<String, Object> config(JsonNode question) {
        Map<String, Object> config = new LinkedHashMap<>();
        question.get("config").properties().forEach(entry -> config.put(entry.getKey(), entry.getValue().asText()));
        return config;
    }

    // Tools

    private static final class Ended extends Error {
    }

    /** Runs a tool's main as if the process were its own: its input, its output, and the status that it ends with. */
    private static ObjectNode tool(JsonNode question) throws Exception {
        List<Runnable> hooks = new ArrayList<>();
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));
        // Some tools catch what ends them, and end once more.
        List<Integer> statuses = new ArrayList<>();
        Exit.setExitProcedure((status, message) -> {
            statuses.add(status);
            throw new Ended();
        });
        ByteArrayOutputStream said = new ByteArrayOutputStream();
        ByteArrayOutputStream complained = new ByteArrayOutputStream();
        PrintStream output = System.out;
        PrintStream errors = System.err;
        System.setIn(new ByteArrayInputStream(question.path("input").asText("").getBytes(StandardCharsets.UTF_8)));
        System.setOut(new PrintStream(said, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(complained, true, StandardCharsets.UTF_8));
        try {
            String[] arguments = JSON.convertValue(question.get("arguments"), String[].class);
            Class.forName(question.get("class").asText()).getMethod("main", String[].class)
                .invoke(null, (Object) arguments);
        } catch (InvocationTargetException error) {
            if (!(error.getCause() instanceof Ended)) {
                throw error;
            }
        } finally {
            hooks.forEach(Runnable::run);
            System.out.flush();
            System.setOut(output);
            System.setErr(errors);
        }
        int status = statuses.isEmpty() ? 0 : statuses.get(0);
        return JSON.createObjectNode().put("status", status).put("output", said.toString(StandardCharsets.UTF_8))
            .put("errors", complained.toString(StandardCharsets.UTF_8));
    }

    // Loads

    private static ObjectNode produceLoad(JsonNode question) throws Exception {
        List<ProducerRecord<byte[], byte[]>> records = new ArrayList<>();
        for (JsonNode value : question.get("values")) {
            records.add(new ProducerRecord<>(question.get("topic").asText(), value.binaryValue()));
        }
        int count = question.get("count").asInt();
        AtomicReference<Exception> failure = new AtomicReference<>();
        try (KafkaProducer<byte[], byte[]> producer = producer(question)) {
            producer.partitionsFor(question.get("topic").asText());
            long startedNs = System.nanoTime();
            for (int number = 0; number < count; number++) {
                producer.send(records.get(number % records.size()), (metadata, error) -> failure.compareAndSet(null, error));
            }
            producer.flush();
            long spentNs = System.nanoTime() - startedNs;
            if (failure.get() != null) {
                throw failure.get();
            }
            return JSON.createObjectNode().put("seconds", spentNs / 1e9);
        }
    }

    /**
     * Many producers at once. Each commits one transaction and aborts the next one without a flush, again and again, so
     * that every request of a transaction comes while the markers of the last one are being written. Answers with the
     * error of each producer that failed.
     */
    private static ObjectNode transactions(JsonNode question) throws Exception {
        List<CompletableFuture<Void>> producers = new ArrayList<>();
        for (int number = 0; number < question.get("producers").asInt(); number++) {
            String transactionalId = "transactions-" + number;
            CompletableFuture<Void> done = new CompletableFuture<>();
            Thread thread = new Thread(() -> {
                try {
                    commitAndAbort(question, transactionalId);
                    done.complete(null);
                } catch (Exception error) {
                    done.completeExceptionally(error);
                }
            });
            thread.setDaemon(true);
            thread.start();
            producers.add(done);
        }
        ObjectNode answer = JSON.createObjectNode();
        ArrayNode errors = answer.putArray("errors");
        for (CompletableFuture<Void> producer : producers) {
            try {
                producer.get(2 * TIMEOUT_NS, TimeUnit.NANOSECONDS);
            } catch (ExecutionException error) {
                errors.add(error.getCause().toString());
            }
        }
        return answer;
    }

    private static void commitAndAbort(JsonNode question, String transactionalId) {
        Map<String, Object> config = config(question);
        config.put("transactional.id", transactionalId);
        try (KafkaProducer<byte[], byte[]> producer =
                new KafkaProducer<>(config, new ByteArraySerializer(), new ByteArraySerializer())) {
            producer.initTransactions();
            for (int round = 0; round < question.get("rounds").asInt(); round++) {
                sendInTransaction(producer, question);
                producer.commitTransaction();
                sendInTransaction(producer, question);
                producer.abortTransaction();
            }
        }
    }

    private static void sendInTransaction(KafkaProducer<byte[], byte[]> producer, JsonNode question) {
        producer.beginTransaction();
        for (int partition = 0; partition < question.get("partitions").asInt(); partition++) {
            producer.send(new ProducerRecord<>(question.get("topic").asText(), partition, null, new byte[10]));
        }
    }

    /** Timed from the first records on. */
    private static ObjectNode consumeLoad(JsonNode question) {
        try (KafkaConsumer<byte[], byte[]> consumer = consumer(question)) {
            long wanted = question.get("count").asLong();
            long deadlineNs = System.nanoTime() + TIMEOUT_NS;
            long came = 0;
            long first = 0;
            long startedNs = 0;
            while (came < wanted) {
                ConsumerRecords<byte[], byte[]> some = consumer.poll(POLL);
                if (startedNs == 0 && !some.isEmpty()) {
                    startedNs = System.nanoTime();
                    first = some.count();
                }
                came += some.count();
                if (System.nanoTime() > deadlineNs) {
                    throw new IllegalStateException(came + " of " + wanted + " records came");
                }
            }
            double seconds = (System.nanoTime() - startedNs) / 1e9;
            return JSON.createObjectNode().put("seconds", seconds * wanted / Math.max(1, came - first));
        }
    }

    // Members of groups

    private static final Map<String, Member> MEMBERS = new HashMap<>();

    /** A consumer that is subscribed, polling in a thread of its own until it is told to leave. */
    private static final class Member extends Thread {
        private final JsonNode question;
        private final ConcurrentLinkedQueue<Commit> commits = new ConcurrentLinkedQueue<>();
        private volatile List<Integer> partitions = List.of();
        private volatile boolean isLeaving = false;
        private volatile Exception failure = null;

        private Member(JsonNode question) {
            this.question = question;
            setDaemon(true);
        }

        @Override
        public void run() {
            try (KafkaConsumer<byte[], byte[]> consumer =
                    new KafkaConsumer<>(config(question), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
                consumer.subscribe(List.of(question.get("topic").asText()));
                while (!isLeaving) {
                    consumer.poll(Duration.ofMillis(50));
                    partitions = consumer.assignment().stream().map(TopicPartition::partition).sorted().toList();
                    for (Commit commit = commits.poll(); commit != null; commit = commits.poll()) {
                        commit.run(consumer);
                    }
                }
            } catch (Exception error) {
                error.printStackTrace();
                failure = error;
            }
        }
    }

    /** The error with which a share consumer's polls end, or none if they go on for a minute. */
    private static ObjectNode sharePoll(JsonNode question) {
        ObjectNode answer = JSON.createObjectNode();
        try (KafkaShareConsumer<byte[], byte[]> consumer = new KafkaShareConsumer<>(
                config(question), new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            consumer.subscribe(List.of(question.get("topic").asText()));
            long deadlineNs = System.nanoTime() + TIMEOUT_NS;
            while (System.nanoTime() < deadlineNs) {
                consumer.poll(POLL);
            }
        } catch (KafkaException error) {
            answer.put("failure", error.toString());
        }
        return answer;
    }

    private record Commit(Map<TopicPartition, OffsetAndMetadata> offsets, CompletableFuture<Void> done) {
        private void run(KafkaConsumer<byte[], byte[]> consumer) {
            try {
                consumer.commitSync(offsets);
                done.complete(null);
            } catch (Exception error) {
                done.completeExceptionally(error);
            }
        }
    }

    private static ObjectNode joinGroup(JsonNode question) {
        Member member = new Member(question);
        MEMBERS.put(question.get("name").asText(), member);
        member.start();
        return JSON.createObjectNode();
    }

    private static ObjectNode memberPartitions(JsonNode question) throws Exception {
        Member member = MEMBERS.get(question.get("name").asText());
        if (member.failure != null) {
            throw member.failure;
        }
        ObjectNode answer = JSON.createObjectNode();
        member.partitions.forEach(answer.putArray("partitions")::add);
        return answer;
    }

    private static ObjectNode memberCommit(JsonNode question) throws Exception {
        Member member = MEMBERS.get(question.get("name").asText());
        String topic = member.question.get("topic").asText();
        Map<TopicPartition, OffsetAndMetadata> offsets = new HashMap<>();
        question.get("offsets").properties().forEach(entry -> offsets.put(
            new TopicPartition(topic, Integer.parseInt(entry.getKey())),
            new OffsetAndMetadata(entry.getValue().asLong())));
        Commit commit = new Commit(offsets, new CompletableFuture<>());
        member.commits.add(commit);
        commit.done().get(TIMEOUT_NS, TimeUnit.NANOSECONDS);
        return JSON.createObjectNode();
    }

    private static ObjectNode leaveGroup(JsonNode question) throws Exception {
        Member member = MEMBERS.remove(question.get("name").asText());
        member.isLeaving = true;
        member.join(TIMEOUT_NS / 1_000_000);
        return JSON.createObjectNode();
    }
}
