import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/** Apache Kafka's verdict on each file of a directory: its name, a tab, and "ok" or the reason, one line each. */
public class KafkaConfigVerdicts {
    public static void main(String[] args) throws Exception {
        List<Path> paths;
        try (Stream<Path> listed = Files.list(Path.of(args[0]))) {
            paths = listed.sorted().collect(Collectors.toList());
        }
        for (Path path : paths) {
            String verdict = "ok";
            try {
                new kafka.server.KafkaConfig(org.apache.kafka.common.utils.Utils.loadProps(path.toString()));
            } catch (Exception error) {
                verdict = String.valueOf(error.getMessage()).replace("\n", " ");
            }
            System.out.println("verdict\t" + path.getFileName() + "\t" + verdict);
        }
    }
}
