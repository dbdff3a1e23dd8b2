"""The limits of the wire package, with their units and reasons.

These limits are fixed. Only the maximum packet size can be configured, as an argument of the
Decoder.
"""

from typing import Final

# Limit of the standard: four bytes with seven bits each. [MQTT5-1.5.5] table 1-1
VARIABLE_BYTE_INTEGER_MAX: Final = 268_435_455

# Limit of the standard: a length of two bytes precedes each string and each binary field.
STRING_BYTES_MAX: Final = 65_535

PACKET_ID_MAX: Final = 65_535

# Before CONNECT a peer is unknown, and must not make the broker buffer the maximum packet size.
# The largest CONNECT of MQTT 3.1.1 has 327,699 bytes (five fields of 64 KiB). The rest is for
# properties.
CONNECT_PACKET_BYTES_MAX: Final = 524_288

# A filter costs 4 bytes on the wire and some hundreds in memory: without a bound, one SUBSCRIBE
# of 2 MiB would cost 100 MB. Ten thousand is more than any bridge subscribes to in one packet.
FILTERS_PER_PACKET_MAX: Final = 10_000

# Likewise for user properties (5 bytes on the wire): no known client sends more than a few dozen.
USER_PROPERTIES_PER_PACKET_MAX: Final = 1_000

# Likewise for subscription identifiers of a PUBLISH (2 bytes on the wire): one for each matching
# subscription.
SUBSCRIPTION_IDENTIFIERS_PER_PACKET_MAX: Final = 10_000

# Cached topics are not checked again. Sensors publish to the same few topics, so a few thousand
# are enough. The limit in bytes bounds the memory that a client that keeps using new topics can
# use. With the decoded strings and the dictionary, the cache takes about 2 MB at these limits.
TOPIC_CACHE_COUNT_MAX: Final = 8_192
TOPIC_CACHE_BYTES_MAX: Final = 524_288
# A long topic must not displace a hundred short ones.
TOPIC_CACHE_FIELD_BYTES_MAX: Final = 512
