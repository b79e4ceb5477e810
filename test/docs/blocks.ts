/** Fenced blocks of the README and of `docs/`, with what comments right before them tell the tests. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

export const root = resolve(import.meta.dirname, '../..');

/** The pages whose commands a reader may paste. */
export const pages: readonly string[] = [
  'README.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md') && !name.startsWith('log/'))
    .sort()
    .map((name) => `docs/${name}`),
];

/** `<!-- first: … -->` may stand several times; the others stand once. */
interface Marks {
  /** The block becomes this file, so that commands after it find it. */
  readonly file?: string;
  /** Commands that make what the block takes for granted; a reader has it. */
  readonly first: readonly string[];
  /** `<!-- with run: … -->`: words behind each `policyloop … run` of the block, so that it ends soon and asks nothing. */
  readonly words: ReadonlyMap<string, string>;
  /** The commands go on until a Ctrl-C. */
  readonly endless: boolean;
  /** Why nothing runs the block. */
  readonly notRun?: string;
}

export interface Block extends Marks {
  readonly page: string;
  /** Line of the fence, from 1. */
  readonly line: number;
  readonly language: string;
  readonly code: string;
}

const kinds = /^(file|first|with \w+|endless|not run)$/;

/** @throws Error for a comment that begins like a mark and is none */
export function blocksOf(page: string, markdown: string): readonly Block[] {
  const fences = markdown.matchAll(/^((?:<!-- .*? -->\n+)*)^( {0,3})```(\w*)\n([\s\S]*?)^\2```$/gm);
  return [...fences].map((fence) => {
    const [, comments = '', , language = '', code = ''] = fence;
    const marks = [...comments.matchAll(/<!-- (.*?)(?:: (.*?))? -->/g)].map(([, kind = '', value = '']) => ({
      kind,
      value,
    }));
    const strange = marks.find(({ kind }) => !kinds.test(kind));
    if (strange !== undefined) throw new Error(`${page}: <!-- ${strange.kind} --> is no mark of a block`);
    const one = (kind: string) => marks.find((mark) => mark.kind === kind)?.value;
    const [file, notRun] = [one('file'), one('not run')];
    return {
      page,
      language,
      code,
      line: markdown.slice(0, fence.index + comments.length).split('\n').length,
      first: marks.flatMap(({ kind, value }) => (kind === 'first' ? [value] : [])),
      words: new Map(
        marks.flatMap(({ kind, value }) =>
          kind.startsWith('with ') ? [[kind.slice('with '.length), value]] : [],
        ),
      ),
      endless: one('endless') !== undefined,
      ...(file !== undefined && { file }),
      ...(notRun !== undefined && { notRun }),
    };
  });
}

export const readBlocks = (page: string) => blocksOf(page, readFileSync(join(root, page), 'utf8'));

/** Configs whose comments have commands. Other examples have a page. */
export const configs: readonly string[] = ['configs', 'examples/real-model'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.yaml'))
    .sort()
    .map((name) => `${folder}/${name}`),
);

/** The commands in the comment at the top of a config, without the remarks in parentheses after them. */
export function commentBlock(config: string): Block {
  const lines = readFileSync(join(root, config), 'utf8').matchAll(
    /^# *(?:[\w ]+:|\d+\.)? +(policyloop .+?)(?: {3,}\(.*\))?$/gm,
  );
  const code = [...lines]
    .map(([, command]) => command!.replace('<any config>', 'acrobot-semantic'))
    .join('\n');
  return { page: config, line: 1, language: 'sh', code, first: [], words: new Map(), endless: false };
}

/** Languages whose blocks are commands of a shell. */
export const isShell = ({ language }: Block) => ['sh', 'bash', 'shell', 'console'].includes(language);

/** The commands of a block, a line each, without remarks. */
export const commandsOf = ({ code }: Block): readonly string[] =>
  code
    .replaceAll('\\\n', ' ')
    .split('\n')
    .map((line) => line.replace(/(^|\s)#\s.*$/, '').trim())
    .filter((line) => line !== '');

/** The words of `policyloop …` in a command, `npx` before it or not, without quotes; undefined of any other program. */
export function policyloopWords(command: string): readonly string[] | undefined {
  const words = [...command.matchAll(/'([^']*)'|"([^"]*)"|((?:[^\s'"]|'[^']*'|"[^"]*")+)/g)].map(
    ([, single, double, plain]) => single ?? double ?? plain!.replaceAll(/['"]/g, ''),
  );
  const at = words[0] === 'npx' ? 1 : 0;
  const end = words.findIndex((word) => ['>', '>>', '|', '&&', ';'].includes(word));
  return words[at] === 'policyloop' ? words.slice(at + 1, end === -1 ? undefined : end) : undefined;
}
