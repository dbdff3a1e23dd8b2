"""Construction of all rules of a broker, each with the rules that it calls."""

from gateway.broker.core.core import Core
from gateway.broker.core.rules.acknowledge import AcknowledgementRules
from gateway.broker.core.rules.admission import Admission
from gateway.broker.core.rules.admit import ClientAcceptance
from gateway.broker.core.rules.authenticate import AuthenticationRules
from gateway.broker.core.rules.connect import ConnectChecks
from gateway.broker.core.rules.deliver import Deliverer
from gateway.broker.core.rules.disconnect import Disconnection
from gateway.broker.core.rules.enqueue import QueueWriter
from gateway.broker.core.rules.fan_out import FanOut
from gateway.broker.core.rules.full_disk import FullDisk
from gateway.broker.core.rules.full_queues import FullQueues
from gateway.broker.core.rules.packets import Packets
from gateway.broker.core.rules.publish import Publisher
from gateway.broker.core.rules.put_off import Deferral
from gateway.broker.core.rules.qos2_receive import Qos2Receive
from gateway.broker.core.rules.receive import PacketReceiver
from gateway.broker.core.rules.refuse import Refusal
from gateway.broker.core.rules.resend import Resender
from gateway.broker.core.rules.restart import Restart
from gateway.broker.core.rules.retained import RetainedReplay
from gateway.broker.core.rules.shared_subscriptions import Redistribution
from gateway.broker.core.rules.subscribe import SubscriptionRules
from gateway.broker.core.rules.system_topics import SystemMessages
from gateway.broker.core.rules.timeouts import Timeouts


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
