/** Names of files and folders that come from outside: each has to stay where it is put, and to fit any file system. */
import { type Problem, UserError } from '../base/errors.js';

/** In bytes. File systems take 255; drafts and locks add a few to the name of what they are for. */
const longestName = 235;

/** Characters of a name that gets a time, a number or the like. */
export const longestPart = 120;

/** Why a text can't be the name of a file or folder; undefined where it can. */
function nameProblem(name: string): string | undefined {
  if (/^\.{0,2}$|[/\\\0]/.test(name)) return 'this is no name of a file: it leads to another folder';
  const bytes = Buffer.byteLength(name);
  return bytes > longestName
    ? `a name of ${bytes} bytes is too long for a file or folder: ${longestName} is the most`
    : undefined;
}

/** @throws UserError for a text that is no name of a file */
export function requireFileName(name: string, place: Omit<Problem, 'message' | 'value'>): string {
  const message = nameProblem(name);
  if (message !== undefined) throw new UserError({ ...place, value: name, message });
  return name;
}

/** @throws UserError for a path of which a part is too long for a name */
export function requireShortNames(path: string, place: Omit<Problem, 'message' | 'value'>): string {
  const long = path.split(/[/\\]/).find((part) => Buffer.byteLength(part) > longestName);
  if (long !== undefined) requireFileName(long, { remedy: 'give it a shorter name', ...place });
  return path;
}
