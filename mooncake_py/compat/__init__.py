"""The interfaces of other libraries, over this one."""
