#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kubelet's pod-resources service: kubelet_server.py SOCKET FILE.

A gRPC server by the real library, with messages of the real schema. FILE holds what to answer, as JSON, and is read for each
question: {"pods": [[namespace, pod, [[container, {resource: [id, ...]}], ...]], ...], "refuse": "text", "many": N,
"name": what is printed}. Prints a
line when it listens, and one for each question. Status 77: the libraries are not here.
"""
import json
import sys
from concurrent import futures

try:
    import grpc
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
except ImportError:
    sys.exit(77)

# k8s.io/kubelet/pkg/apis/podresources/v1/api.proto: message -> field -> number, type (a message's name or a letter), many
SCHEMA = {
    "ListPodResourcesResponse": {"pod_resources": (1, "PodResources", True)},
    "PodResources": {"name": (1, "s", False), "namespace": (2, "s", False), "containers": (3, "ContainerResources", True)},
    "ContainerResources": {"name": (1, "s", False), "devices": (2, "ContainerDevices", True), "cpu_ids": (3, "i", True),
                           "dynamic_resources": (5, "DynamicResource", True)},
    "ContainerDevices": {"resource_name": (1, "s", False), "device_ids": (2, "s", True), "topology": (3, "TopologyInfo", False)},
    "TopologyInfo": {"nodes": (1, "NUMANode", True)},
    "NUMANode": {"ID": (1, "i", False)},
    "DynamicResource": {"claim_name": (2, "s", False), "claim_namespace": (3, "s", False), "claim_resources": (4, "ClaimResource", True)},
    "ClaimResource": {"driver_name": (2, "s", False), "pool_name": (3, "s", False), "device_name": (4, "s", False)},
}


def messages():
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="api.proto", package="v1", syntax="proto3")
    for name, fields in SCHEMA.items():
        m = file.message_type.add(name=name)
        for f, (number, kind, many) in fields.items():
            one = m.field.add(name=f, number=number, label=field.LABEL_REPEATED if many else field.LABEL_OPTIONAL)
            if kind in "si":
                one.type = field.TYPE_STRING if kind == "s" else field.TYPE_INT64
            else:
                one.type, one.type_name = field.TYPE_MESSAGE, ".v1." + kind
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    whole = pool.FindMessageTypeByName("v1.ListPodResourcesResponse")
    get = getattr(message_factory, "GetMessageClass", None)
    return get(whole) if get else message_factory.MessageFactory(pool).GetPrototype(whole)


def answer(request, context):
    with open(sys.argv[2], encoding="utf-8") as f:
        want = json.load(f)
    print("asked", want.get("name"), flush=True)
    if want.get("refuse"):
        context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, want["refuse"])
    out = Response()
    for n in range(want.get("many", 0)):
        out.pod_resources.add(name=f"pod-{n}", namespace="default").containers.add(name="main", cpu_ids=range(16))
    for namespace, pod, containers in want.get("pods", []):
        p = out.pod_resources.add(name=pod, namespace=namespace)
        for container, devices in containers:
            c = p.containers.add(name=container, cpu_ids=[3, 4, 5])
            for resource, ids in devices.items():
                if resource == "claim":
                    for i in ids:
                        c.dynamic_resources.add(claim_name="c", claim_namespace=namespace).claim_resources.add(
                            driver_name="gpu.nvidia.com", pool_name="node", device_name=i)
                    continue
                d = c.devices.add(resource_name=resource, device_ids=ids)
                d.topology.nodes.add(ID=1)
    return out


Response = messages()
server = grpc.server(futures.ThreadPoolExecutor(2))
server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler("v1.PodResourcesLister", {
    "List": grpc.unary_unary_rpc_method_handler(answer, request_deserializer=lambda b: b, response_serializer=Response.SerializeToString)}),))
server.add_insecure_port("unix:" + sys.argv[1])
server.start()
print("listening", flush=True)
server.wait_for_termination()
