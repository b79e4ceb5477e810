/** Checks untrusted names of files and folders: each must stay in its folder and fit any file system. */
import { type Problem, UserError } from '../base/errors.js';

/** In bytes. File systems allow 255; drafts and locks append a suffix. */
const longestName = 235;

/** In characters, for a name that gets a time or number appended. */
export const longestPart = 120;

/** Why a text can't be a file name; undefined if it can. */
function nameProblem(name: string): string | undefined {
  if (/^\.{0,2}$|[/\\\0]/.test(name)) return 'this is no name of a file: it leads to another folder';
  const bytes = Buffer.byteLength(name);
  return bytes > longestName
    ? `a name of ${bytes} bytes is too long for a file or folder: ${longestName} is the most`
    : undefined;
}

/** @throws UserError for a text that is no file name */
export function requireFileName(name: string, place: Omit<Problem, 'message' | 'value'>): string {
  const message = nameProblem(name);
  if (message !== undefined) throw new UserError({ ...place, value: name, message });
  return name;
}

/** @throws UserError for a path with a part that is too long */
export function requireShortNames(path: string, place: Omit<Problem, 'message' | 'value'>): string {
  const long = path.split(/[/\\]/).find((part) => Buffer.byteLength(part) > longestName);
  if (long !== undefined) requireFileName(long, { remedy: 'give it a shorter name', ...place });
  return path;
}
