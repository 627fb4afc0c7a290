"""epochs on twice the cache's size is within 0.05 of C7's hit ratio, or says why not. Usage: known_memory.py HEADRACE"""

import bench

disk = bench.limited("--size", "2G", "--memory", "384M")
result = bench.run({"use": "epochs", "files": 6000, "file_size": "128KiB", "epochs": 6, "workers": 4, "repeat": 1},
                   f"{disk}/scratch")
assert result.code == 0, result.reported
measured, predicted = result.metric("hit_ratio"), result.metric("hit_ratio_predicted_c7")
cache = result.metric("cache_ratio")
print(f"cache ratio {cache:.3f}, hit ratio {measured:.3f}, C7 {predicted:.3f}")
print("\n".join(result.point["notes"]))
assert 0.3 < cache < 0.6, "the control group's limit is the cache"
assert abs(measured - predicted) <= 0.05 or any("C7 predicts" in note for note in result.point["notes"])
