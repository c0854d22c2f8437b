//! UBJSON, a binary JSON, as far as XGBoost writes it: numbers are big-endian, and an array of one
//! type may name it, and its length, once.

use crate::error::{Error, Result};
use serde_json::{Map, Value};

/// How deep values may stand inside each other.
const DEEPEST: usize = 64;

/// The value that the bytes hold. Infinities and NaN become texts.
pub(super) fn parse(bytes: &[u8]) -> Result<Value> {
    let mut reader = UbjsonReader { bytes, at: 0 };
    let kind = reader.byte()?;
    reader.value(kind, 0)
}

struct UbjsonReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> UbjsonReader<'a> {
    fn fault(&self, what: &str) -> Error {
        Error::model("model.syntax", format!("the UBJSON is broken at byte {}: {what}", self.at))
    }

    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let rest = &self.bytes[self.at..];
        let taken = rest.get(..count).ok_or_else(|| self.fault("it ends too early"))?;
        self.at += count;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    fn byte(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    /// The next byte, if it is this one.
    fn skip(&mut self, byte: u8) -> bool {
        let found = self.bytes.get(self.at) == Some(&byte);
        self.at += usize::from(found);
        found
    }

    fn integer(&mut self, kind: u8) -> Result<i64> {
        Ok(match kind {
            b'i' => i64::from(i8::from_be_bytes(self.array()?)),
            b'U' => i64::from(self.byte()?),
            b'I' => i64::from(i16::from_be_bytes(self.array()?)),
            b'l' => i64::from(i32::from_be_bytes(self.array()?)),
            b'L' => i64::from_be_bytes(self.array()?),
            _ => return Err(self.fault("an integer is expected")),
        })
    }

    /// A length with its type before it; nothing is shorter than a byte, but for empty values.
    fn length(&mut self) -> Result<usize> {
        let kind = self.byte()?;
        let length = self.integer(kind)?;
        let left = self.bytes.len() - self.at;
        let length = usize::try_from(length).ok().filter(|&length| length <= left);
        length.ok_or_else(|| self.fault("a length is beyond the end"))
    }

    fn text(&mut self) -> Result<String> {
        let length = self.length()?;
        let text = std::str::from_utf8(self.take(length)?);
        text.map(str::to_owned).map_err(|_| self.fault("a text is not UTF-8"))
    }

    fn value(&mut self, kind: u8, depth: usize) -> Result<Value> {
        if depth > DEEPEST {
            return Err(self.fault("values stand too deep inside each other"));
        }
        Ok(match kind {
            b'Z' => Value::Null,
            b'T' => Value::Bool(true),
            b'F' => Value::Bool(false),
            b'd' => float(f64::from(f32::from_be_bytes(self.array()?))),
            b'D' => float(f64::from_be_bytes(self.array()?)),
            b'S' => Value::String(self.text()?),
            b'[' => Value::Array(self.list(depth)?),
            b'{' => Value::Object(self.object(depth)?),
            kind => self.integer(kind)?.into(),
        })
    }

    fn list(&mut self, depth: usize) -> Result<Vec<Value>> {
        let kind = if self.skip(b'$') { Some(self.byte()?) } else { None };
        if matches!(kind, Some(b'Z' | b'T' | b'F')) {
            // A few bytes could stand for any number of them.
            return Err(self.fault("a list of such values is not expected"));
        }
        let length = if self.skip(b'#') { Some(self.length()?) } else { None };
        if kind.is_some() && length.is_none() {
            return Err(self.fault("a typed list needs a length"));
        }
        let mut list = Vec::new();
        while length.map_or_else(|| !self.skip(b']'), |length| list.len() < length) {
            let kind = kind.map_or_else(|| self.byte(), Ok)?;
            list.push(self.value(kind, depth + 1)?);
        }
        Ok(list)
    }

    fn object(&mut self, depth: usize) -> Result<Map<String, Value>> {
        let mut object = Map::new();
        while !self.skip(b'}') {
            let name = self.text()?;
            let kind = self.byte()?;
            object.insert(name, self.value(kind, depth + 1)?);
        }
        Ok(object)
    }
}

fn float(value: f64) -> Value {
    serde_json::Number::from_f64(value)
        .map_or_else(|| Value::String(value.to_string()), Value::Number)
}
