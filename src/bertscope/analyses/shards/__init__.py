"""Questions about texts in shards: a corpus is divided, each shard's sums are kept, and they are added up."""
