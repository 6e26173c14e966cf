import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.File;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HexFormat;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Assignment;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.GroupSubscription;
import org.apache.kafka.clients.consumer.ConsumerPartitionAssignor.Subscription;
import org.apache.kafka.clients.consumer.internals.ConsumerProtocol;
import org.apache.kafka.common.Cluster;
import org.apache.kafka.common.Node;
import org.apache.kafka.common.PartitionInfo;
import org.apache.kafka.common.TopicPartition;

/**
 * What Apache Kafka's assignors answer. The file holds an array of groups: an assignor's class, topics (for each
 * partition the racks of its replicas), members with their subscriptions in hexadecimal. Printed is one array: for each
 * group the assignment by member, and for each member the bytes of its assignment and of its subscription.
 */
public class KafkaAssignors {
    private static final ObjectMapper JSON = new ObjectMapper();

    public static void main(String[] args) throws Exception {
        ArrayNode answers = JSON.createArrayNode();
        for (JsonNode group : JSON.readTree(new File(args[0])))
            answers.add(answer(group));
        System.out.println(JSON.writeValueAsString(answers));
    }

    private static ObjectNode answer(JsonNode group) throws Exception {
        Map<String, Subscription> members = new HashMap<>();
        for (JsonNode member : group.get("members")) {
            Subscription subscription = ConsumerProtocol.deserializeSubscription(bytes(member.get("subscription")));
            if (member.hasNonNull("instance"))
                subscription.setGroupInstanceId(Optional.of(member.get("instance").asText()));
            members.put(member.get("id").asText(), subscription);
        }
        Map<String, Assignment> found = assignor(group).assign(cluster(group.get("topics")),
            new GroupSubscription(members)).groupAssignment();
        ObjectNode answer = JSON.createObjectNode();
        found.forEach((member, assignment) -> {
            ObjectNode said = answer.putObject(member);
            ArrayNode partitions = said.putArray("partitions");
            assignment.partitions().forEach(each -> partitions.addArray().add(each.topic()).add(each.partition()));
            said.put("assignment", hex(ConsumerProtocol.serializeAssignment(assignment)));
            said.put("subscription", hex(ConsumerProtocol.serializeSubscription(rewound(members.get(member)))));
            said.put("user_data", userData(group, assignment));
        });
        return answer;
    }

    /** What the member's assignor says of this assignment, made in generation 7. */
    private static String userData(JsonNode group, Assignment assignment) {
        ConsumerPartitionAssignor fresh = assignor(group);
        fresh.onAssignment(assignment, new ConsumerGroupMetadata("g", 7, "m", Optional.empty()));
        ByteBuffer data = fresh.subscriptionUserData(Set.of());
        return data == null ? null : hex(data);
    }

    private static ConsumerPartitionAssignor assignor(JsonNode group) {
        try {
            return (ConsumerPartitionAssignor) Class.forName(
                "org.apache.kafka.clients.consumer." + group.get("assignor").asText()).getConstructor().newInstance();
        } catch (ReflectiveOperationException error) {
            throw new IllegalStateException(error);
        }
    }

    /** Assignors read the user data of a subscription, and leave it read. */
    private static Subscription rewound(Subscription subscription) {
        if (subscription.userData() != null)
            subscription.userData().rewind();
        return subscription;
    }

    private static Cluster cluster(JsonNode topics) {
        Map<String, Node> nodes = new HashMap<>();
        List<PartitionInfo> partitions = new ArrayList<>();
        topics.fields().forEachRemaining(topic -> {
            int number = 0;
            for (JsonNode racks : topic.getValue()) {
                List<Node> replicas = new ArrayList<>();
                for (JsonNode rack : racks)
                    replicas.add(nodes.computeIfAbsent(rack.asText(), name -> new Node(nodes.size(), "h", 1, name)));
                if (replicas.isEmpty())
                    replicas.add(Node.noNode());
                Node[] all = replicas.toArray(new Node[0]);
                partitions.add(new PartitionInfo(topic.getKey(), number++, all[0], all, all));
            }
        });
        return new Cluster("c", new ArrayList<>(nodes.values()), partitions, Set.of(), Set.of());
    }

    private static ByteBuffer bytes(JsonNode text) {
        return ByteBuffer.wrap(HexFormat.of().parseHex(text.asText()));
    }

    private static String hex(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return HexFormat.of().formatHex(bytes);
    }
}
