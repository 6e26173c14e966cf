import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import org.apache.kafka.common.errors.NotControllerException;
import org.apache.kafka.common.protocol.ApiKeys;
import org.apache.kafka.common.protocol.ByteBufferAccessor;
import org.apache.kafka.common.protocol.MessageUtil;
import org.apache.kafka.common.requests.AbstractRequest;

/**
 * What Apache Kafka answers where a whole request fails. Each line of the file is a request: key, version, and the body
 * in hexadecimal; each line printed is the answer in the same form.
 */
public class KafkaErrorResponses {
    public static void main(String[] args) throws Exception {
        for (String line : Files.readAllLines(Path.of(args[0]))) {
            String[] words = line.split(" ", -1);
            short version = Short.parseShort(words[1]);
            ByteBufferAccessor body = new ByteBufferAccessor(ByteBuffer.wrap(HexFormat.of().parseHex(words[2])));
            AbstractRequest request = AbstractRequest.parseRequest(
                ApiKeys.forId(Integer.parseInt(words[0])), version, body).request;
            ByteBuffer answer = MessageUtil.toByteBufferAccessor(
                request.getErrorResponse(0, new NotControllerException("not here")).data(), version).buffer();
            byte[] bytes = new byte[answer.remaining()];
            answer.get(bytes);
            System.out.println("answer " + words[0] + " " + version + " " + HexFormat.of().formatHex(bytes));
        }
    }
}
