/** Caches files derived from a model's weights in its directory or, if that is read-only, in the home directory. */
import { createHash } from 'node:crypto';
import { accessSync, constants, existsSync, mkdirSync, statSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { messageOf, UserError, unlessRejected } from '../../../base/errors.js';
import { readSafetensors, readTensorBytes, type StoredTensor, sampleRanges } from '../weights/safetensors.js';

/** Returns the path of a cached file, which `make` creates if necessary. @throws UserError if it can't be written */
export function ensureCachedFile(
  model: string,
  kind: string,
  version: number,
  tensors: readonly StoredTensor[],
  bytes: number,
  make: (file: string) => void,
): string {
  const name = `${kind}-${fingerprint(tensors, version)}.safetensors`;
  const directory = existsSync(model) && statSync(model).isFile() ? path.dirname(model) : model;
  const folders = [path.join(directory, '.policyloop'), path.join(homedir(), '.cache', 'policyloop')];
  const known = folders.map((folder) => path.join(folder, name)).find(isComplete);
  if (known !== undefined) return known;
  const file = path.join(writableFolder(folders), name);
  try {
    make(file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error)) throw error;
    throw new UserError({
      message: `the quantised weights can't be written to ${path.dirname(file)} (${String(error.code)})`,
      hint: `free up ${Math.ceil(bytes / 2 ** 20)} MiB there, or make the directory writable`,
    });
  }
  return file;
}

/** Hashes names, dtypes, shapes and samples of all matrices, so that changed weights get a new file. */
function fingerprint(tensors: readonly StoredTensor[], version: number): string {
  const hash = createHash('sha256').update(`${version}`);
  for (const tensor of tensors) {
    hash.update(`\n${tensor.name} ${tensor.dtype} ${tensor.shape.join('x')} `);
    for (const [start, length] of sampleRanges(tensor.length))
      hash.update(readTensorBytes(tensor, start, length));
  }
  return hash.digest('hex').slice(0, 16);
}

const isComplete = (file: string) =>
  existsSync(file) && unlessRejected(() => readSafetensors(file)) !== undefined;

function writableFolder(folders: readonly string[]): string {
  let failure: unknown;
  for (const folder of folders) {
    try {
      mkdirSync(folder, { recursive: true });
      accessSync(folder, constants.W_OK);
      return folder;
    } catch (error) {
      failure = error;
    }
  }
  throw new UserError({
    message: `no folder for the quantised weights is writable (${messageOf(failure)})`,
    alternatives: folders,
    hint: 'make one of these folders writable',
  });
}
