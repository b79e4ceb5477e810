/** A copy of a reference model with files that mean harm. */
import { execFileSync } from 'node:child_process';
import { cpSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { referenceDirectory } from '../models/local/fixture.js';
import { temporaryDirectory } from '../support/temporary-directory.js';

/** What stands in the place of a file. */
export type Hostile =
  | { readonly kind: 'text'; readonly text: string | Buffer }
  /** Fields over those that the file has, by dotted path. */
  | { readonly kind: 'fields'; readonly fields: Readonly<Record<string, unknown>> }
  | { readonly kind: 'link'; readonly target: string }
  | { readonly kind: 'pipe' };

export function hostileModel(files: Readonly<Record<string, Hostile>>, of = 'qwen3-fp32'): string {
  const directory = temporaryDirectory();
  cpSync(referenceDirectory(of), directory, { recursive: true });
  for (const [name, hostile] of Object.entries(files)) write(join(directory, name), hostile);
  return directory;
}

function write(file: string, hostile: Hostile): void {
  const was = hostile.kind === 'fields' ? (JSON.parse(readFileSync(file, 'utf8')) as object) : {};
  rmSync(file, { force: true });
  if (hostile.kind === 'text') writeFileSync(file, hostile.text);
  else if (hostile.kind === 'fields') writeFileSync(file, JSON.stringify(withFields(was, hostile.fields)));
  else if (hostile.kind === 'link') symlinkSync(hostile.target, file);
  else execFileSync('mkfifo', [file]);
}

function withFields(was: object, fields: Readonly<Record<string, unknown>>): object {
  const content = structuredClone(was) as Record<string, unknown>;
  for (const [path, value] of Object.entries(fields)) {
    const keys = path.split('.');
    let inner = content;
    for (const key of keys.slice(0, -1)) inner = inner[key] as Record<string, unknown>;
    inner[keys.at(-1)!] = value;
  }
  return content;
}

/** A safetensors file with this header; `length` is what it says of the header's own length. */
export function safetensors(header: string, { length = BigInt(header.length), data = 64 } = {}): Buffer {
  const prefix = Buffer.alloc(8);
  prefix.writeBigUInt64LE(length);
  return Buffer.concat([prefix, Buffer.from(header), Buffer.alloc(data)]);
}
