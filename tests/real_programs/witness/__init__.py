"""A component of Home Assistant that writes its entities and the energy page's issues to files.

It runs within Home Assistant's own process and Python, never in that of the tests.
"""

import json
from collections.abc import Mapping
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from homeassistant.components.energy import data, validate
from homeassistant.components.recorder import get_instance, tasks
from homeassistant.core import HomeAssistant
from homeassistant.helpers import device_registry, entity_registry
from homeassistant.helpers.event import async_track_time_interval
from homeassistant.util import dt

EACH = timedelta(seconds=0.5)


async def async_setup(hass: HomeAssistant, config: Mapping[str, Any]) -> bool:
    """Write the entities to a file twice a second, and carry out requests about the energy page."""
    shown = Path(hass.config.path("shown.json"))
    asked = Path(hass.config.path("energy.asked.json"))
    answered = Path(hass.config.path("energy.answered.json"))

    async def look(_: datetime) -> None:
        await hass.async_add_executor_job(_replace, shown, _entities(hass))
        if await hass.async_add_executor_job(asked.exists):
            question = json.loads(await hass.async_add_executor_job(asked.read_text))
            await hass.async_add_executor_job(asked.unlink)
            answer = await _energy_page(hass, question)
            await hass.async_add_executor_job(_replace, answered, answer)

    async_track_time_interval(hass, look, EACH)
    return True


def _replace(path: Path, content: object) -> None:
    part = path.with_suffix(".part")
    part.write_text(json.dumps(content, default=str))
    part.rename(path)


def _entities(hass: HomeAssistant) -> dict[str, Any]:
    """Return every MQTT entity with its device, by unique id."""
    devices, found = device_registry.async_get(hass), {}
    for entry in entity_registry.async_get(hass).entities.values():
        if entry.platform != "mqtt":
            continue
        state = hass.states.get(entry.entity_id)
        device = devices.async_get(entry.device_id) if entry.device_id else None
        found[entry.unique_id] = {
            "entity_id": entry.entity_id,
            "state": None if state is None else state.state,
            "attributes": {} if state is None else dict(state.attributes),
            "device": None if device is None else device.name,
            "model": None if device is None else device.model,
        }
    return found


async def _energy_page(hass: HomeAssistant, preferences: Any) -> Any:
    """Configure the energy page, and return the issues that it reports."""
    manager = await data.async_get_manager(hass)
    await manager.async_update(preferences)
    recorder, now = get_instance(hass), dt.utcnow()
    begun = now.replace(minute=now.minute - now.minute % 5, second=0, microsecond=0)
    # Home Assistant compiles statistics every five minutes. The page needs them now.
    recorder.queue_task(tasks.StatisticsTask(begun, False))
    await recorder.async_block_till_done()
    return (await validate.async_validate(hass)).as_dict()
