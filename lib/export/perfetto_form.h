/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Numbers of Perfetto's trace format: of fields, by message, and of what some of them hold. From
 * protos/perfetto/trace/ in Perfetto's sources, where numbers are for ever.
 */
#ifndef INGERO_EXPORT_PERFETTO_FORM_H
#define INGERO_EXPORT_PERFETTO_FORM_H

/* Trace, TracePacket */
#define TRACE_PACKET	      1
#define PACKET_CLOCK_SNAPSHOT 6
#define PACKET_TIMESTAMP      8
#define PACKET_SEQUENCE	      10
#define PACKET_TRACK_EVENT    11
#define PACKET_INTERNED	      12
#define PACKET_FLAGS	      13
#define PACKET_COMPRESSED     50 /* a zlib stream of packets, each with its tag */
#define PACKET_CLOCK	      58
#define PACKET_DEFAULTS	      59
#define PACKET_DESCRIPTOR     60
#define FLAG_STATE_CLEARED    1
/* TracePacketDefaults, TrackEventDefaults */
#define DEFAULTS_TRACK_EVENT 11
#define DEFAULTS_CLOCK	     58
/* ClockSnapshot, Clock; BuiltinClock */
#define SNAPSHOT_CLOCK	  1
#define SNAPSHOT_PRIMARY  2
#define CLOCK_ID	  1
#define CLOCK_VALUE	  2
#define CLOCK_INCREMENTAL 3
#define CLOCK_OF_REAL	  1
#define CLOCK_OF_MONO	  3
#define CLOCK_OF_BOOT	  6
#define CLOCK_OF_SEQUENCE 64 /* the first of those that mean something in their sequence only */
/* TrackEvent */
#define EVENT_CATEGORY	      3
#define EVENT_NOTE	      4
#define EVENT_TYPE	      9
#define EVENT_NAME	      10
#define EVENT_TRACK	      11
#define EVENT_CATEGORY_TEXT   22
#define EVENT_NAME_TEXT	      23
#define EVENT_SITE	      34
#define EVENT_ARROW_SHORT     36 /* as 47 and 48, which are always 8 bytes long */
#define EVENT_ARROW_END_SHORT 42
#define EVENT_VALUE	      44
#define EVENT_ARROW	      47
#define EVENT_COLOUR	      53 /* correlation id: slices with the same id get one colour */
#define TYPE_BEGIN	      1
#define TYPE_END	      2
#define TYPE_INSTANT	      3
#define TYPE_VALUE	      4
/* DebugAnnotation */
#define NOTE_F_KEY	1
#define NOTE_F_UINT	3
#define NOTE_F_INT	4
#define NOTE_F_DOUBLE	5
#define NOTE_F_TEXT	6
#define NOTE_F_JSON	9
#define NOTE_F_KEY_TEXT 10
#define NOTE_F_STRING	17
/* InternedData and its entries */
#define INTERNED_CATEGORY 1
#define INTERNED_NAME	  2
#define INTERNED_KEY	  3
#define INTERNED_SITE	  4
#define INTERNED_STRING	  29
#define ENTRY_ID	  1
#define ENTRY_TEXT	  2
#define SITE_FILE	  2
#define SITE_FUNCTION	  3
#define SITE_LINE	  4
/* TrackDescriptor */
#define TRACK_UUID	   1
#define TRACK_NAME	   2
#define TRACK_PROCESS	   3
#define TRACK_THREAD_OF	   4
#define TRACK_PARENT	   5
#define TRACK_COUNTER	   8
#define TRACK_ORDER_RANK   12 /* among siblings */
#define PROCESS_PID	   1
#define PROCESS_SORT_INDEX 3 /* what the UI sorts processes by */
#define PROCESS_NAME	   6
#define THREAD_PID	   1
#define THREAD_TID	   2
#define THREAD_NAME	   5
#define COUNTER_UNIT	   3
#define COUNTER_UNIT_NAME  6
#define UNIT_NS		   1
#define UNIT_COUNT	   2
#define UNIT_BYTES	   3

#endif
