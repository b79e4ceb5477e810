/**
 * Replies with what their writer means, made from the writer's side: a layout is filled with values, and words are put
 * around it. It knows nothing of how the parser reads.
 */
import type { ParameterSpec } from '../../../src/policies/policy.js';
import type { RandomGenerator } from '../../../src/random/generator.js';

type Vector = readonly number[];

export interface Written {
  readonly reply: string;
  /** The vector that a reader takes from it; `none` where it holds no proposal, `several` where it holds more. */
  readonly meant: Vector | 'none' | 'several';
  /** A plain well-formed reply, which has to be accepted. */
  readonly plain: boolean;
  readonly kind: string;
  readonly spec: ParameterSpec;
}

type Layout = (texts: readonly string[], random: RandomGenerator) => string;

const keyed = (texts: readonly string[], colon = ': ') =>
  texts.map((text, i) => `params[${i}]${colon}${text}`);
const lines = (items: readonly string[]) => items.join('\n');
const rows = (head: readonly string[], body: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...body].map((cells) => `| ${cells.join(' | ')} |`).join('\n');

/** Layouts that name every parameter. */
const named: Readonly<Record<string, Layout>> = {
  'asked for': (texts) => keyed(texts).join(', '),
  semicolons: (texts) => keyed(texts, ' = ').join('; '),
  lines: (texts) => lines(keyed(texts)),
  'lines with equals signs': (texts) => lines(keyed(texts, ' = ')),
  bullets: (texts) => lines(keyed(texts).map((item) => `- ${item}`)),
  'bold bullets': (texts) => lines(texts.map((text, i) => `* **params[${i}]**: \`${text}\``)),
  numbered: (texts) => lines(keyed(texts).map((item, i) => `${i + 1}. ${item}`)),
  bold: (texts) => `**${keyed(texts).join(', ')}**`,
  fence: (texts) => `\`\`\`\n${keyed(texts).join(', ')}\n\`\`\``,
  'fence of lines': (texts) => `\`\`\`text\n${lines(keyed(texts, ' = '))}\n\`\`\``,
  json: (texts) => `{"params": [${texts.join(', ')}]}`,
  'json in a fence': (texts) => `\`\`\`json\n{\n  "params": [\n    ${texts.join(',\n    ')}\n  ]\n}\n\`\`\``,
  'json by name': (texts) => `{${texts.map((text, i) => `"params[${i}]": ${text}`).join(', ')}}`,
  'json with a reason': (texts) =>
    `{"reason": "The best had 3 of 4, and [1, 2] failed.", "params": [${texts.join(', ')}]}`,
  python: (texts) => `\`\`\`python\nparams = [${texts.join(', ')}]\n\`\`\``,
  table: (texts) =>
    rows(
      ['Parameter', 'Value'],
      texts.map((text, i) => [`params[${i}]`, text]),
    ),
  'table with notes': (texts) =>
    rows(
      ['Parameter', 'Value', 'Note'],
      texts.map((text, i) => [`params[${i}]`, text, i % 2 ? 'bias' : 'observation 1']),
    ),
  'remarks in brackets': (texts) =>
    keyed(texts)
      .map((item, i) => `${item} (${i % 2 ? 'pushes left' : 'a bit more'})`)
      .join(', '),
  'remarks behind dashes': (texts) => lines(keyed(texts).map((item) => `${item} - makes it quicker`)),
  comments: (texts) => lines(keyed(texts, ' = ').map((item) => `${item}  # gain`)),
};
/** Layouts that call themselves the answer. */
const marked: Readonly<Record<string, Layout>> = {
  latex: (texts) => `\\boxed{${keyed(texts).join(', ')}}`,
  tags: (texts) => `<answer>${keyed(texts).join(', ')}</answer>`,
};
/** Layouts of values alone. */
const bare: Readonly<Record<string, Layout>> = {
  list: (texts) => `[${texts.join(', ')}]`,
  'tight list': (texts) => `[${texts.join(',')}]`,
  'boxed list': (texts) => `\\boxed{[${texts.join(', ')}]}`,
};

const openings = [
  '',
  '',
  '',
  'Here is my proposal:',
  'Here are the new parameters:',
  'Sure! Here is my next proposal:',
  'New parameters:',
  '**Proposal:**',
  '### Proposal',
  'My answer:',
  'Final answer:',
  'I propose:',
  'I suggest the following parameters:',
  "Let's try this:",
  'Next, I would try:',
  'Based on the evaluations so far, I propose:',
  'Okay, here is a new set of parameters:',
  'The slope is steep.\n\nI will try:',
  'Answer:',
  'Parameters:',
];
const closings = [
  '',
  '',
  '',
  'The angle terms decide, so I made them larger.',
  'I raised the first one from 0.4 because the score rose from 10 to 12.5.',
  'Reason: the return grows with the gain, while the bias hardly matters.',
  'This is a step away from the best so far, which scored 212.4.',
  'I hope this helps! Let me know if you want another one.',
  '### Reasoning\n1. The pole falls to the left.\n2. The cart drifts by 0.3 m.',
  'Actions 0 and 1 should differ more; observation[2] is what tells them apart.',
  'It stays within the range [-6, 6].',
  'In iteration 7 the score was 98.5, the best of 20 episodes.',
  'A smaller step would waste an evaluation; a larger one might leave the region.',
  'The weights keep their sign, but the bias is new.',
  'Why: earlier parameters with a smaller gain gave less.',
  '**Why?** The cart must move first.',
];

/** Words before a set that is no proposal. */
const quoting = [
  'The best so far:',
  'Best so far was',
  'Previous parameters:',
  'In iteration 12 I tried',
  'Iteration 4:',
  'Evaluation 9:',
  'Earlier I had',
  'The worst were',
  'Old values:',
  'Starting point:',
  'Lower bounds:',
  'Upper bounds:',
  'Minimum:',
  'Maxima:',
  'Standard deviations:',
  'Gradient estimate:',
  'Mean of the top 5:',
  'For example,',
  'Example:',
  'The format looks like',
  'Do not use',
  'Avoid',
  'We should never take',
  'Instead of',
  'Unlike',
  'Compared with',
  'This beats',
  'If we used',
  'Suppose we took',
  'It would be a mistake to use',
  'What failed:',
  'Rejected:',
  'Bad parameters:',
  'Seeds:',
  'Sensitivities:',
  'Parent A:',
  'Random direction:',
  'Noise that was added:',
  'Thought:',
  'Draft:',
  'Scores:',
  'Learning rates:',
  'Here are the sensitivities:',
  'Current incumbent:',
  'I already know that',
  'The history shows',
  'Baseline:',
  'The optimum cannot be',
  'As a counterexample:',
  'Yesterday:',
  'Not',
  'Distances:',
];
const withdrawals = [
  'Wait, that is wrong.',
  'Ignore the above.',
  'On second thought, no.',
  'Actually, that was tried before.',
  'Scratch that.',
  'No, this was evaluated already.',
  'Hmm, wait. That is a mistake.',
  'Let me correct that.',
  'Sorry, I made a mistake.',
  'That is not right.',
  'Do not use this.',
  'Disregard that.',
];
const finals = [
  'Final answer:',
  'The answer is',
  'My final answer:',
  'So the final parameters are:',
  'Final proposal:',
];
const thoughts = [
  ['<think>', '</think>'],
  ['<thinking>', '</thinking>'],
  ['<reflection>', '</reflection>'],
  ['<seed:think>', '</seed:think>'],
  ['<|begin_of_thought|>', '<|end_of_thought|>'],
  ['\u25c1think\u25b7', '\u25c1/think\u25b7'],
  ['[THINK]', '[/THINK]'],
  ['<scratchpad>', '</scratchpad>'],
  ['<inner_monologue>', '</inner_monologue>'],
  ['<|START_THINKING|>', '<|END_THINKING|>'],
  ['<planning step="1">', '</planning>'],
  ['<ponder>', '</ponder>'],
  ['<|channel|>analysis<|message|>', '<|end|><|start|>assistant<|channel|>final<|message|>'],
] as const;

/** What makes another number of a value, or none. */
const spoilers: readonly ((text: string) => string)[] = [
  (t) => `${t} to 9`,
  (t) => `${t}..9`,
  (t) => `${t} or 9`,
  (t) => `${t} \u2192 9`,
  (t) => `${t} -> 9`,
  (t) => `~~${t}~~ 9`,
  (t) => `${t}\u00bd`,
  (t) => `${t}\u00b2`,
  (t) => `${t}**2`,
  (t) => `${t}\u03c0`,
  (t) => `${t} 234`,
  (t) => `${t}'234`,
  (t) => `${t}\u200b5`,
  (t) => `${t} %`,
  (t) => `${t}%`,
  (t) => `${t} x 10^-1`,
  (t) => `${t} \\times 10^{2}`,
  (t) => `${t} +/- 1`,
  (t) => `${t} \u00b1 1`,
  (t) => `${t}/3`,
  (t) => `${t},5`,
  (t) => `${t} e 3`,
  (t) => `${t} million`,
  (t) => `${t} degrees`,
  (t) => `${t} and a half`,
  (t) => `${t} * 2`,
  (t) => `${t} minus 1`,
  (t) => `\u2264 ${t}`,
  (t) => `<${t}`,
  (t) => `$${t}`,
  (t) => `${t} \u20ac`,
  (t) => `${t}^3`,
  (t) => `${t}_000`,
  (t) => `${t} (or 9)`,
  (t) => `${t} times ten`,
  () => '\uff15',
  () => '\u0665',
  () => 'NaN',
  () => 'high',
  (t) => `between ${t} and 9`,
  (t) => `${t}:30`,
  (t) => `0x${t.replace(/\D/g, '')}`,
  (t) => `${t}\u20443`,
  (t) => `${t} \u2013 9`,
  (t) => `<s>${t}</s> 9`,
  (t) => `${t}<sup>2</sup>`,
];

function someSpec(random: RandomGenerator): ParameterSpec {
  const count = random.choice([1, 2, 2, 3, 4, 5, 8, 10, 16, 36]);
  if (random.random() < 0.25)
    return { count, kind: 'integer', low: 0, high: 3, decimals: 0, choices: [0, 1, 2, 3] };
  return { count, kind: 'float', low: -6, high: 6, decimals: random.choice([1, 1, 2]) };
}

function someVector(random: RandomGenerator, { count, low, high, decimals, choices }: ParameterSpec): Vector {
  return Array.from({ length: count }, () =>
    choices === undefined ? Number(random.uniform(low, high).toFixed(decimals)) + 0 : random.choice(choices),
  );
}

interface Writer {
  readonly random: RandomGenerator;
  readonly spec: ParameterSpec;
  vector(): Vector;
  /** The vector in a layout that names the parameters. */
  set(vector: Vector): string;
  /** The same on one line, for a sentence. */
  inline(vector: Vector): string;
}

const textsOf = (vector: Vector, { decimals }: ParameterSpec) =>
  vector.map((value) => value.toFixed(decimals));
const joined = (...parts: readonly string[]) => parts.filter((part) => part !== '').join('\n\n');

/** Kinds of replies, each by how often it is written. */
const kinds: readonly {
  readonly kind: string;
  readonly share: number;
  write(writer: Writer): Omit<Written, 'kind' | 'spec'>;
}[] = [
  {
    kind: 'plain',
    share: 8,
    write({ random, spec, vector }) {
      const meant = vector();
      const opening = random.choice(openings);
      // A sentence may stand around an object, but the asked-for form is the object alone.
      const isBare = random.random() < 0.15 && spec.count > 1;
      const layouts = Object.values(isBare ? bare : { ...named, ...marked });
      const body = layouts[random.integers(0, layouts.length)]!(textsOf(meant, spec), random);
      return { meant, plain: true, reply: joined(opening, body, random.choice(closings)) };
    },
  },
  {
    kind: 'plain after thinking',
    share: 2,
    write({ random, vector, set, inline }) {
      const meant = vector();
      const [open, close] = random.choice(thoughts);
      const thought = random.choice([
        `Maybe ${inline(vector())}?`,
        set(vector()),
        `So ${inline(vector())} is best. Final answer: ${inline(vector())}`,
      ]);
      return { meant, plain: true, reply: `${open}\n${thought}\n${close}\n${set(meant)}` };
    },
  },
  {
    kind: 'only thinking',
    share: 1,
    write({ random, vector, set }) {
      const [open, close] = random.choice(thoughts);
      return {
        meant: 'none',
        plain: false,
        reply: `${open}\n${set(vector())}\n${random.random() < 0.5 ? close : ''}`,
      };
    },
  },
  {
    kind: 'a spoilt value',
    share: 5,
    write({ random, spec, vector }) {
      const texts = [...textsOf(vector(), spec)];
      const at = random.integers(0, texts.length);
      texts[at] = random.choice(spoilers)(texts[at]!);
      const layouts = Object.values(random.random() < 0.15 && spec.count > 1 ? bare : named);
      const body = layouts[random.integers(0, layouts.length)]!(texts, random);
      return {
        meant: 'none',
        plain: false,
        reply: joined(random.choice(openings), body, random.choice(closings)),
      };
    },
  },
  {
    kind: 'quoted only',
    share: 4,
    write({ random, vector, set, inline }) {
      const words = random.choice(quoting);
      const quoted =
        words.endsWith(':') && random.random() < 0.5
          ? `${words}\n${set(vector())}`
          : `${words} ${inline(vector())}.`;
      return {
        meant: 'none',
        plain: false,
        reply: joined(quoted, random.choice(['', 'I need to think about it.', 'The slope is steep.'])),
      };
    },
  },
  {
    kind: 'history lines',
    share: 1,
    write({ random, vector, inline }) {
      const history = Array.from(
        { length: random.integers(1, 4) },
        () => `${inline(vector()).replaceAll(', ', '; ')}; f(params): ${random.uniform(0, 99).toFixed(2)}`,
      );
      const meant = random.random() < 0.5 ? vector() : undefined;
      return meant === undefined
        ? { meant: 'none', plain: false, reply: lines(history) }
        : { meant, plain: false, reply: joined(lines(history), inline(meant)) };
    },
  },
  {
    kind: 'quoted, then proposed',
    share: 3,
    write({ random, vector, set, inline }) {
      const meant = vector();
      const words = random.choice(quoting);
      const quoted = words.endsWith(':') ? `${words}\n${set(vector())}` : `${words} ${inline(vector())}.`;
      return { meant, plain: false, reply: joined(quoted, random.choice(openings), set(meant)) };
    },
  },
  {
    kind: 'proposed, then quoted',
    share: 3,
    write({ random, vector, set, inline }) {
      const meant = vector();
      return {
        meant,
        plain: false,
        reply: joined(set(meant), `${random.choice(quoting)} ${inline(vector())}.`),
      };
    },
  },
  {
    kind: 'withdrawn',
    share: 3,
    write({ random, vector, set, inline }) {
      const meant = vector();
      const first = random.random() < 0.5 ? set(vector()) : `I propose ${inline(vector())}.`;
      const end = random.choice([
        '',
        `${random.choice(finals)} ${inline(meant)}`,
        joined(random.choice(finals), set(meant)),
      ]);
      return {
        meant: end === '' ? 'none' : meant,
        plain: false,
        reply: joined(first, random.choice(withdrawals), end),
      };
    },
  },
  {
    kind: 'two proposals',
    share: 3,
    write({ random, vector, set, inline }) {
      const [a, b] = [vector(), vector()];
      if (String(a) === String(b)) return { meant: a, plain: false, reply: joined(set(a), set(b)) };
      const reply = random.choice([
        joined(set(a), set(b)),
        joined('Option A:', set(a), 'Option B:', set(b)),
        `Either ${inline(a)} or ${inline(b)}.`,
        joined(set(a), `Alternatively ${inline(b)}.`),
        `{"params": [${a.join(', ')}]}\n{"params": [${b.join(', ')}]}`,
        `{"candidates": [[${a.join(', ')}], [${b.join(', ')}]]}`,
      ]);
      return { meant: 'several', plain: false, reply };
    },
  },
  {
    kind: 'a table of several columns',
    share: 2,
    write({ random, spec, vector }) {
      const columns = Array.from({ length: random.integers(2, 4) }, vector);
      const titles = random.choice([
        ['min', 'max', 'value'],
        ['old', 'new', 'change'],
        ['a', 'b', 'c'],
        ['low', 'value', 'high'],
        ['Option 1', 'Option 2', 'Option 3'],
      ]);
      const all = columns.map((column) => textsOf(column, spec));
      const body = Array.from({ length: spec.count }, (_, i) => [
        `params[${i}]`,
        ...all.map((column) => column[i]!),
      ]);
      const isOne = columns.every((column) => String(column) === String(columns[0]));
      const right = titles.findIndex((title) => title === 'value' || title === 'new');
      const meant = columns[right];
      return {
        meant: meant ?? (isOne ? columns[0]! : 'several'),
        plain: false,
        reply: rows(['parameter', ...titles.slice(0, columns.length)], body),
      };
    },
  },
  {
    kind: 'too many or too few',
    share: 2,
    write({ random, spec, vector }) {
      const longer = [...vector(), ...vector()].slice(
        0,
        random.choice([spec.count + 1, spec.count + 2, spec.count - 1]),
      );
      const layouts = Object.values(random.random() < 0.2 ? bare : named);
      const body = layouts[random.integers(0, layouts.length)]!(textsOf(longer, spec), random);
      return { meant: 'none', plain: false, reply: joined(random.choice(openings), body) };
    },
  },
  {
    kind: 'numbers from different sentences',
    share: 2,
    write({ random, spec, vector }) {
      const said = random.choice([
        ' gave 12.5 in iteration 3',
        ' was tried in iteration 4',
        ' did well',
        ' led to 98.1',
        ' made it worse',
        ' is what the best had',
      ]);
      const glue = random.choice(['\n', ' ', '\n\n']);
      const verb = random.choice([': ', ' = ', ' of ']);
      return {
        meant: 'none',
        plain: false,
        reply: textsOf(vector(), spec)
          .map((text, i) => `In trial ${i + 2} params[${i}]${verb}${text}${said}.`)
          .join(glue),
      };
    },
  },
  {
    kind: 'a value changed afterwards',
    share: 2,
    write({ random, spec, vector, set }) {
      const [first, other] = [vector(), vector()];
      const at = random.integers(0, spec.count);
      const text = textsOf(other, spec)[at]!;
      const reply = joined(
        set(first),
        random.choice([
          `params[${at}]: ${text}`,
          `Wait, params[${at}] should be ${text}.`,
          `Correction: params[${at}]: ${text}`,
          `No, make that params[${at}]: ${text}`,
        ]),
      );
      return { meant: first[at] === other[at] ? first : 'none', plain: false, reply };
    },
  },
  {
    kind: 'a key that is none',
    share: 2,
    write({ random, spec, vector }) {
      const list = textsOf(vector(), spec).join(', ');
      const key = random.choice([
        'previous_params',
        'bad_params',
        'old',
        'best',
        'example',
        'best_params',
        'lower',
        'upper_bounds',
        'seeds',
        'scores',
        'history',
        'gradient',
        'std',
        'sensitivity',
        'parent',
        'worstParams',
      ]);
      return {
        meant: 'none',
        plain: false,
        reply: random.choice([
          `{"${key}": [${list}]}`,
          `${key} = [${list}]`,
          `${key}: ${list}`,
          `{"${key}": {"params": [${list}]}}`,
        ]),
      };
    },
  },
];

/** A reply drawn by its kind's share. */
export function writeReply(random: RandomGenerator): Written {
  const chosen = random.choice(kinds.flatMap((kind) => Array.from({ length: kind.share }, () => kind)));
  const spec = someSpec(random);
  const vector = () => someVector(random, spec);
  const layouts = Object.values(named);
  const set = (of: Vector) => layouts[random.integers(0, layouts.length)]!(textsOf(of, spec), random);
  const inline = (of: Vector) => keyed(textsOf(of, spec)).join(', ');
  return { ...chosen.write({ random, spec, vector, set, inline }), kind: chosen.kind, spec };
}
