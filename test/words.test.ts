/** Words that we don't use, in pages, in messages and labels, and in names. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseSync, Visitor } from 'oxc-parser';
import { expect, it } from 'vitest';
import { pages, root } from './docs/blocks.js';

/** What we say instead; a provider, a server or a system may refuse. */
const inText: readonly (readonly [RegExp, string])[] = [
  [/[‘’]/, "a straight '"],
  [/\blearnt\b/, 'learned'],
  [/\bunseen (episode|one|seed|game)s?\b/, 'fresh'],
  [/\btrainings\b/, 'training runs'],
  [/\b(a|the|this) play\b|\bplays of\b/, 'agent run'],
  [/\b(anew|heeds?|heeded|in vain|of yours)\b/, 'plain English'],
  [/\brepetitions\b/, 'repeats'],
  [
    /\b(normal|optim|maxim|minim|penal|initial|general|standard|summar|recogn|organ|util|visual|seriali)iz(?!ed by)/,
    'British spelling',
  ],
  [/\b(quantiz|discretiz)(e[ds]?|ing|ation)\b/, 'British spelling'],
  [/\b(behavior|color|neighbor)(s|ed|al|ing)?\b/, 'British spelling'],
  [/\brefus(e[ds]?|als?|ing)\b/, 'reject'],
];

const inNames: readonly (readonly [RegExp, string])[] = [
  [/learnt|remedy|unseen[A-Z]|steer[A-Z]|Steer|refuse[A-Z]/, 'our words'],
  [/olour|ehaviour|eighbour|abelled|odelled|[cC]entre/, 'American spelling'],
  [
    /(ormal|uant|aximi|inimi|enal|nitial|eneral|tandard|ummar|ecogn)is(e|ed|es|er|ers|ing|ation)(?![a-z])/,
    'American spelling',
  ],
];

/** Places where providers, servers or systems refuse. */
const refusals =
  /(failures|ollama|troubleshooting|exit-codes)\.md|failure-text\.ts|test\/models\/(hosted|local\/stores)/;

const problems = (place: string, text: string, words: typeof inText) =>
  words.flatMap(([pattern, instead]) => {
    const found = pattern.exec(text);
    if (found === null || (found[0].startsWith('refus') && refusals.test(place))) return [];
    return [`${place}: ${text.slice(Math.max(0, found.index - 30), found.index + 30)}: ${instead}`];
  });

const read = (file: string) => readFileSync(join(root, file), 'utf8');

const prose = (page: string) =>
  read(page)
    .replaceAll(/^( {0,3})```[\s\S]*?^\1```$|<!-- figures -->[\s\S]*?<!-- \/figures -->/gm, '')
    .replaceAll(/`[^`]*`|\]\([^)]*\)|<!-- .*? -->/g, '');

const filesIn = (...folders: readonly string[]) =>
  folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .map((file) => join(folder, file)),
  );

const titlesIn = (text: string) =>
  [...text.matchAll(/(?:^ *(?:describe|it|test)\b.*?|\]\))\(\s*(['"])(.+?)\1/gm)].map((match) => match[2]!);

/** Sentences and labels, which have a space, without keys and styles; and all names of a program. */
function wordsOf(file: string, text: string) {
  const [texts, names] = [[] as string[], new Set<string>()];
  new Visitor({
    Literal: ({ value }) => void (typeof value === 'string' && value.includes(' ') && texts.push(value)),
    TemplateElement: ({ value }) => void texts.push(value.cooked ?? ''),
    Identifier: ({ name }) => void names.add(name),
    PrivateIdentifier: ({ name }) => void names.add(name),
  }).visit(parseSync(file, text).program);
  return { texts: texts.map(withoutCode), names: [...names] };
}

const withoutCode = (text: string) => text.replaceAll(/`[^`]*`|\S*[._=<{-][\w"]\S*/g, '');

it.each(['AGENTS.md', 'CONTRIBUTING.md', 'SKILL.md', 'prompts/README.md', ...pages])(
  'the prose of %s avoids words that the project replaces',
  (page) => {
    const found = prose(page)
      .split('\n')
      .flatMap((line) => problems(page, line, inText));
    expect(found.join('\n')).toBe('');
  },
);

it('test titles written as plain strings avoid words that the project replaces', () => {
  const found = filesIn('test').flatMap((file) =>
    titlesIn(read(file)).flatMap((title) => problems(file, withoutCode(title), inText)),
  );
  expect(found.join('\n')).toBe('');
  expect(titlesIn("  it.each(['a'])(\n    'b', () => {\ntest('c',\n])('d',")).toEqual(['b', 'c', 'd']);
});

it('messages and names in src and finetune avoid words that the project replaces', () => {
  const sources = filesIn('src', 'finetune');
  expect(sources.length).toBeGreaterThan(500);
  const found = sources.flatMap((file) => {
    const { names, texts } = wordsOf(file, read(file));
    return [
      ...texts.flatMap((text) => problems(file, text, inText)),
      ...names.flatMap((name) => problems(file, name, inNames)),
    ];
  });
  expect(found.join('\n')).toBe('');
  const { names, texts } = wordsOf('a.ts', 'const learntColour = "it isn’t learnt"; f("refused by us")');
  expect(texts.flatMap((text) => problems('a.ts', text, inText))).toHaveLength(3);
  expect(names.flatMap((name) => problems('a.ts', name, inNames))).toHaveLength(2);
});
