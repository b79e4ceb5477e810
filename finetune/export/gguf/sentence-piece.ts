/** Reads the scores of SentencePiece's tokens (Kudo and Richardson 2018); the highest-scoring pair is merged first. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { UserError } from '../../../src/base/errors.js';

/**
 * Reads the scores of SentencePiece's tokens from `tokenizer.model`. tokenizer.json ranks pairs of tokens instead, and
 * such ranks can't always be expressed as scores.
 */
export function sentencePieceScores(directory: string): ReadonlyMap<string, number> {
  const model = path.join(directory, 'tokenizer.model');
  if (existsSync(model)) return readPieces(model);
  throw new UserError({
    file: model,
    message: "is missing: llama.cpp needs the scores of SentencePiece's tokens",
    hint: "add the model's tokenizer.model to the directory",
  });
}

/** Reads `pieces` from SentencePiece's ModelProto: field 1, with the piece (1, string) and its score (2, float). */
function readPieces(file: string): Map<string, number> {
  const scores = new Map<string, number>();
  for (const field of protobufFields(readFileSync(file), file)) {
    if (field.number !== 1 || field.bytes === undefined) continue;
    let piece = '';
    let score = 0;
    for (const { number, bytes } of protobufFields(field.bytes, file)) {
      if (number === 1 && bytes !== undefined) piece = bytes.toString('utf8');
      if (number === 2 && bytes?.length === 4) score = bytes.readFloatLE();
    }
    scores.set(piece, score);
  }
  return scores;
}

/** Yields the fields of a protobuf message: their numbers, and the bytes of fixed-size or length-delimited fields. */
function* protobufFields(buffer: Buffer, file: string): Generator<{ number: number; bytes?: Buffer }> {
  let at = 0;
  const varint = (): number => {
    let value = 0;
    for (let factor = 1; ; factor *= 128) {
      const byte = buffer[at++];
      if (byte === undefined) throw new UserError({ file, message: 'not a SentencePiece model' });
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
  };
  while (at < buffer.length) {
    const key = varint();
    const wireType = key % 8;
    if (wireType === 0) {
      varint();
      yield { number: Math.floor(key / 8) };
      continue;
    }
    const length = wireType === 2 ? varint() : wireType === 5 ? 4 : wireType === 1 ? 8 : Number.NaN;
    if (!(at + length <= buffer.length)) throw new UserError({ file, message: 'not a SentencePiece model' });
    yield { number: Math.floor(key / 8), bytes: buffer.subarray(at, at + length) };
    at += length;
  }
}
