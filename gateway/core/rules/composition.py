"""Construction of all rules of a broker, each with the rules that it calls."""

from gateway.core.core import Core
from gateway.core.rules.acknowledge import Acknowledging
from gateway.core.rules.admission import Admission
from gateway.core.rules.admit import Admitting
from gateway.core.rules.authenticate import Authenticating
from gateway.core.rules.connect import Connecting
from gateway.core.rules.deliver import Deliverer
from gateway.core.rules.disconnect import Disconnecting
from gateway.core.rules.enqueue import Enqueueing
from gateway.core.rules.fan_out import FanOut
from gateway.core.rules.full_disk import FullDisk
from gateway.core.rules.full_queues import FullQueues
from gateway.core.rules.packets import Packets
from gateway.core.rules.publish import Publisher
from gateway.core.rules.put_off import PuttingOff
from gateway.core.rules.qos2_receive import Qos2Receive
from gateway.core.rules.receive import Receiving
from gateway.core.rules.refuse import Refusing
from gateway.core.rules.resend import Resending
from gateway.core.rules.restart import Restart
from gateway.core.rules.retained import RetainedReplay
from gateway.core.rules.shared_subscriptions import Redistribution
from gateway.core.rules.subscribe import Subscribing
from gateway.core.rules.system_topics import SystemMessages
from gateway.core.rules.timeouts import Timeouts


class Rules:
    """The rules that the broker calls, and the rules that those call."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self.resending = Resending(core)
        self.putting_off = PuttingOff(core)
        self.enqueueing = Enqueueing(core, self.putting_off)
        self.deliverer = Deliverer(core, self.resending, self.enqueueing)
        self.system_messages = SystemMessages(core)
        self.acknowledging = Acknowledging(core, self.deliverer)
        self.fan_out = FanOut(core, self.deliverer)
        self.admission = Admission(core)
        self.qos2_receive = Qos2Receive(core, self.admission, self.fan_out)
        self.full_disk = FullDisk(core, self.putting_off)
        self.publisher = Publisher(
            core, self.admission, self.deliverer, self.fan_out, self.qos2_receive
        )
        self.redistribution = Redistribution(core, self.admission, self.fan_out)
        self.retained_replay = RetainedReplay(core, self.deliverer)
        self.subscribing = Subscribing(core, self.retained_replay, self.system_messages)
        self.disconnecting = Disconnecting(
            core, self.deliverer, self.publisher, self.redistribution, self.retained_replay
        )
        self.full_queues = FullQueues(core, self.putting_off, self.enqueueing, self.disconnecting)
        self.refusing = Refusing(core, self.disconnecting)
        self.admitting = Admitting(core, self.refusing, self.disconnecting, self.full_disk)
        self.authenticating = Authenticating(core, self.refusing, self.admitting)
        self.connecting = Connecting(core, self.refusing, self.authenticating, self.admitting)
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
        self.receiving = Receiving(
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
