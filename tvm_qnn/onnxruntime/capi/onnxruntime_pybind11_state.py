"""The classes of errors, under the module's name in ONNX Runtime."""

from tvm_qnn.onnxruntime.errors import EngineError as EngineError
from tvm_qnn.onnxruntime.errors import EPFail as EPFail
from tvm_qnn.onnxruntime.errors import Fail as Fail
from tvm_qnn.onnxruntime.errors import InvalidArgument as InvalidArgument
from tvm_qnn.onnxruntime.errors import InvalidGraph as InvalidGraph
from tvm_qnn.onnxruntime.errors import InvalidProtobuf as InvalidProtobuf
from tvm_qnn.onnxruntime.errors import ModelLoaded as ModelLoaded
from tvm_qnn.onnxruntime.errors import NoModel as NoModel
from tvm_qnn.onnxruntime.errors import NoSuchFile as NoSuchFile
from tvm_qnn.onnxruntime.errors import NotImplemented as NotImplemented
from tvm_qnn.onnxruntime.errors import RuntimeException as RuntimeException
