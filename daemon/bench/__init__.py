"""The acceptance of one device on a technician's bench (docs/bench.md).

``device`` owns the link and the driver, ``hands`` do what only hands can do, ``shoe``, ``shuffler``,
``sign`` and ``every`` are the checks, ``run`` carries them out, ``terminal`` and ``page`` tell of it.
"""
