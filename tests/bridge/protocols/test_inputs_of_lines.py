"""Inputs of sensors that send lines of text, each with the expected result."""

from tests.bridge.protocols.input_files import read, values


def test_what_a_sensor_could_not_measure_is_not_published() -> None:
    frames, damaged, skipped = read("arduino-nan.kv")
    assert [values(frame) for frame in frames] == [
        {"temperature": 21.5},
        {"temperature": 22.0, "humidity": 40},
    ]
    assert (damaged, skipped) == ({}, {"not_measured": 3})


def test_boot_text_between_lines_of_numbers_is_damage() -> None:
    (frame,), damaged, _ = read("esp32-boot.csv6")
    assert values(frame) == dict(zip("abcdef", range(1, 7), strict=True))
    assert damaged == {"columns": 5, "type": 1}


def test_members_of_nested_objects_have_joined_names_and_lists_are_left_out() -> None:
    frames, damaged, skipped = read("json-nested.json")
    assert [values(frame) for frame in frames] == [
        {
            "Time": "2026-01-01T00:00:00",
            "DHT11.Temperature": 21.5,
            "DHT11.Humidity": 40,
            "TempUnit": "C",
        },
        {"ok": True},
        {
            "model": "Acurite-Tower",
            "id": 1234,
            "temperature_C": 21.5,
            "humidity": 40,
            "mic": "CHECKSUM",
        },
        {"Temperature_C": 21.5},
    ]
    assert (damaged, skipped) == ({}, {"member": 1})


def test_sentences_without_a_checksum_are_read_where_none_is_required() -> None:
    frames, damaged, _ = read("nmea-no-checksum.txt")
    assert [list(frame.quantities) for frame in frames] == [["rpyl"], ["mwv"], ["gga"]]
    assert not damaged


def test_a_node_s_nan_is_left_out_and_a_colour_stays_a_text() -> None:
    frames, damaged, skipped = read("mysensors.txt")
    assert [(frame.part, values(frame)) for frame in frames] == [
        ("12", {"temperature_6": 36.5}),
        ("12", {"tripped_7": 1}),
        ("12", {"battery": 87}),
        ("12", {"rgb_3": "ff00ff"}),
        ("12", {"text_4": "a;b"}),
    ]
    assert (damaged, skipped) == ({}, {"not_measured": 1})


def test_json_that_a_sketch_prints_value_by_value_is_read() -> None:
    frames, damaged, skipped = read("json-sketch.json")
    assert [values(frame) for frame in frames] == [
        {"h": 40.5, "ok": True},
        {"t": 21.5, "h": 40, "p": 1013},
        {"t": 22.0},
        {"t": 22.5},
    ]
    assert (damaged, skipped) == ({"syntax": 1}, {"not_measured": 3, "value": 1})


def test_units_between_pairs_cost_no_line_and_a_long_number_is_an_identifier() -> None:
    frames, damaged, skipped = read("arduino-units.kv")
    assert [values(frame) for frame in frames] == [
        {"T": 21.5, "H": 40},
        {"T": 21.6, "H": 41, "P": 1013},
        {"iccid": "89430103524031234567", "rssi": -97},
    ]
    assert (damaged, skipped) == ({"syntax": 1}, {})


def test_a_field_without_a_number_costs_no_other_of_its_sentence() -> None:
    (depth, position, _), damaged, skipped = read("nmea-no-value.txt")
    assert values(depth)["dbt/depthm"] == 2.4
    assert values(position)["gga/lat"] == 47.2852331667
    assert "gga/HDOP" not in values(position)
    assert (damaged, skipped) == ({}, {"not_measured": 3})
