"""Construction of all rules of a broker, each with the rules that it calls."""

from gateway.core.core import Core
from gateway.core.rules.acknowledge import AcknowledgementRules
from gateway.core.rules.admission import Admission
from gateway.core.rules.admit import ClientAcceptance
from gateway.core.rules.authenticate import AuthenticationRules
from gateway.core.rules.connect import ConnectChecks
from gateway.core.rules.deliver import Deliverer
from gateway.core.rules.disconnect import Disconnection
from gateway.core.rules.enqueue import QueueWriter
from gateway.core.rules.fan_out import FanOut
from gateway.core.rules.full_disk import FullDisk
from gateway.core.rules.full_queues import FullQueues
from gateway.core.rules.packets import Packets
from gateway.core.rules.publish import Publisher
from gateway.core.rules.put_off import Deferral
from gateway.core.rules.qos2_receive import Qos2Receive
from gateway.core.rules.receive import PacketReceiver
from gateway.core.rules.refuse import Refusal
from gateway.core.rules.resend import Resender
from gateway.core.rules.restart import Restart
from gateway.core.rules.retained import RetainedReplay
from gateway.core.rules.shared_subscriptions import Redistribution
from gateway.core.rules.subscribe import SubscriptionRules
from gateway.core.rules.system_topics import SystemMessages
from gateway.core.rules.timeouts import Timeouts


class Rules:
    """The rules that the broker calls, and the rules that those call."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.resending = Resender(core)
        self.putting_off = Deferral(core)
        self.enqueueing = QueueWriter(core, self.putting_off)
        self.deliverer = Deliverer(core, self.resending, self.enqueueing)
        self.system_messages = SystemMessages(core)
        self.acknowledging = AcknowledgementRules(core, self.deliverer)
        self.fan_out = FanOut(core, self.deliverer)
        self.admission = Admission(core)
        self.qos2_receive = Qos2Receive(core, self.admission, self.fan_out)
        self.full_disk = FullDisk(core, self.putting_off)
        self.publisher = Publisher(
            core, self.admission, self.deliverer, self.fan_out, self.qos2_receive
        )
        self.redistribution = Redistribution(core, self.admission, self.fan_out)
        self.retained_replay = RetainedReplay(core, self.deliverer)
        self.subscribing = SubscriptionRules(core, self.retained_replay, self.system_messages)
        self.disconnecting = Disconnection(
            core, self.deliverer, self.publisher, self.redistribution, self.retained_replay
        )
        self.full_queues = FullQueues(core, self.putting_off, self.enqueueing, self.disconnecting)
        self.refusing = Refusal(core, self.disconnecting)
        self.admitting = ClientAcceptance(core, self.refusing, self.disconnecting, self.full_disk)
        self.authenticating = AuthenticationRules(core, self.refusing, self.admitting)
        self.connecting = ConnectChecks(core, self.refusing, self.authenticating, self.admitting)
        self.packets = Packets(
            core,
            self.refusing,
            self.authenticating,
            self.connecting,
            self.disconnecting,
            self.publisher,
            self.qos2_receive,
            self.acknowledging,
            self.subscribing,
            self.full_disk,
            self.full_queues,
        )
        self.receiving = PacketReceiver(
            core,
            self.admission.incoming,
            self.packets,
            self.refusing,
            self.authenticating,
            self.disconnecting,
            self.subscribing,
        )
        self.timeouts = Timeouts(
            core,
            self.admitting,
            self.disconnecting,
            self.refusing,
            self.resending,
            self.qos2_receive,
            self.retained_replay,
            self.full_queues,
        )
        self.restart = Restart(core, self.disconnecting, self.publisher)
