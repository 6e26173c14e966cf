import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;

import org.apache.kafka.clients.admin.Admin;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/** Which settings Apache Kafka's clients take: for each line of a file (kind, then name=value, between tabs) "ok" or why not. */
public class KafkaClientVerdicts {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] parts = line.split("\t", -1);
            Map<String, Object> settings = new HashMap<>();
            for (int i = 1; i < parts.length; i++) {
                int at = parts[i].indexOf('=');
                settings.put(parts[i].substring(0, at), parts[i].substring(at + 1));
            }
            String verdict = "ok";
            try {
                make(parts[0], settings);
            } catch (Exception error) {
                Throwable cause = error.getCause() == null ? error : error.getCause();
                verdict = String.valueOf(cause.getMessage()).replace("\n", " ");
            }
            System.out.println("verdict\t" + verdict);
        }
    }

    private static void make(String kind, Map<String, Object> settings) {
        if (kind.equals("producer")) {
            new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer()).close(Duration.ZERO);
        } else if (kind.equals("consumer")) {
            new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer()).close();
        } else {
            Admin.create(settings).close(Duration.ZERO);
        }
    }
}
