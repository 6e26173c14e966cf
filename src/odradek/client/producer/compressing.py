"""Compression settings of a producer. Pure."""

from odradek.client.settings.settings import ProducerConfig
from odradek.records.compression import Compression


def codec_and_level(settings: ProducerConfig) -> tuple[Compression, int | None]:
    """The level is None for codecs that have none."""
    codec = Compression[settings.compression_type.upper()]
    levels = {
        Compression.GZIP: settings.compression_gzip_level,
        Compression.LZ4: settings.compression_lz4_level,
        Compression.ZSTD: settings.compression_zstd_level,
    }
    return codec, levels.get(codec)
