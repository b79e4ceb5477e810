/** Reads programs, and edits to programs, from replies. */
import { answerText } from '../../models/answer-text.js';
import type { ParameterVector } from '../../policies/policy.js';
import { applyEdits } from '../../policies/program/edits.js';
import type { ProgramLibrary } from '../../policies/program/library.js';
import { ProgramFault, programParameters } from '../../policies/program/program.js';
import { failed, type ParseContext, type ParseResult, repeated } from './failure.js';

/**
 * Reads the program of a reply and adds it to the library: the last code block that defines `act`, otherwise the last
 * code block or, if there is none, the text from the first definition to the last brace.
 */
export function readProgram(
  reply: string,
  programs: ProgramLibrary,
  context: ParseContext = {},
): ParseResult {
  const { text, unclosedThinking } = answerText(reply);
  const { isClosed, source } = sourceIn(text);
  const isCut = unclosedThinking || (context.finishReason === 'length' && !isClosed);
  if (source === undefined) return failed({ kind: isCut ? 'truncated' : 'missing' });
  return added(asWritten(reply, source), programs, context, isCut);
}

/** Applies a reply's search-and-replace blocks to the parent; a reply without blocks is read as a whole program. */
export function readEdits(
  reply: string,
  parent: ParameterVector,
  programs: ProgramLibrary,
  context: ParseContext = {},
): ParseResult {
  const { text } = answerText(reply);
  if (!areEdits(text)) return readProgram(reply, programs, context);
  try {
    const source = applyEdits(programs.program(parent).source, text);
    return added(source, programs, context, context.finishReason === 'length');
  } catch (error) {
    return failedBy(error);
  }
}

const areEdits = (text: string) => /^\s*<{5,}/m.test(text);

function added(
  written: string,
  programs: ProgramLibrary,
  { seen }: ParseContext,
  isCut: boolean,
): ParseResult {
  try {
    const source = programs.declared(written);
    const value = programParameters(programs.parse(source));
    const known = seen?.(value);
    if (known !== undefined) return failed(repeated(known));
    return { ok: true, value: programs.add(source) };
  } catch (error) {
    return isCut ? failed({ kind: 'truncated' }) : failedBy(error);
  }
}

function failedBy(error: unknown): ParseResult {
  if (!(error instanceof ProgramFault)) throw error;
  return failed({ kind: 'program', ...error.failure });
}

const definition = /^[ \t]*(?:(?:async )?function\s+\w|(?:const|let|var)\s+\w+\s*=)/m;
const definesAct = /\bact\b\s*(?:\(|=)/;

const codeBlock = /^[ \t]*(```+|~~~+)[^\n`]*\n(.*?)(?:^[ \t]*\1[ \t]*$|(?![\s\S]))/gms;
const editBlock = /^[ \t]*<{5,}.*?(?:^[ \t]*>{5,}[^\n]*$|(?![\s\S]))/gms;

/** The source as the original reply has it; removing thinking also changes code that looks like a tag (`a[result]`). */
function asWritten(reply: string, source: string): string {
  // Try each of the last 20 fences as a start instead of pairing them, because thinking may contain an unpaired one.
  const starts = [...reply.matchAll(/^[ \t]*(?:```|~~~)/gm)].slice(-20);
  const blocks = starts.map(({ index }) => {
    const [[, , code = ''] = []] = reply.slice(index).matchAll(codeBlock);
    return withoutBlankEnds(code);
  });
  return blocks.findLast((code) => withoutBlankEnds(answerText(code).text) === source) ?? source;
}

/** The reply without its programs and edits. */
export const withoutProgram = (reply: string): string =>
  reply
    .replaceAll(codeBlock, (block) => (definesAct.test(block) || areEdits(block) ? '' : block))
    .replaceAll(editBlock, '');

/** The source in a reply, and whether it ends with a closing fence or brace. */
function sourceIn(text: string): { readonly source: string | undefined; readonly isClosed: boolean } {
  const blocks = [...text.matchAll(codeBlock)];
  const chosen = blocks.findLast(([, , code]) => definesAct.test(code!)) ?? blocks.at(-1);
  if (chosen !== undefined) {
    const [whole, fence, code] = chosen;
    return { source: withoutBlankEnds(code!), isClosed: whole.trimEnd().endsWith(fence!) };
  }
  const start = definesAct.test(text) ? text.search(definition) : -1;
  if (start < 0) return { source: undefined, isClosed: false };
  // Without a code block, an explanation may follow the last brace.
  const end = text.lastIndexOf('}') + 1;
  return {
    source: withoutBlankEnds(text.slice(start, end > start ? end : undefined)),
    isClosed: end > start,
  };
}

const withoutBlankEnds = (code: string) => code.replace(/^(?:[ \t]*\n)+/, '').trimEnd();
