/** Forms of answers as expressions. */
import type { TextForm } from '../../../language-model.js';
import { utf8 } from './characters.js';
import { Expressions, FormError } from './expressions.js';
import { gbnfExpression } from './gbnf.js';
import { jsonExpression } from './json-schema.js';
import { wholePattern } from './pattern.js';

export interface SealedForm {
  readonly expressions: Expressions;
  readonly root: number;
}

/** @throws FormError if the form can't be enforced, within about a second */
export function sealForm(form: TextForm): SealedForm {
  const expressions = new Expressions();
  try {
    const root = expressionOf(expressions, form);
    expressions.seal(root);
    return { expressions, root };
  } catch (error) {
    if (error instanceof RangeError) throw new FormError('this form is nested too deeply');
    throw error;
  }
}

function expressionOf(e: Expressions, form: TextForm): number {
  switch (form.kind) {
    case 'literal':
      return e.literal(form.text);
    case 'free':
      return e.not(e.sequence(e.anything, e.literals(form.without), e.anything));
    case 'json':
      return jsonExpression(e, form.schema, form.lenient);
    case 'regex':
      return wholePattern(e, form.pattern, (ranges) => utf8(e, ranges));
    case 'gbnf':
      return gbnfExpression(e, form.grammar);
    case 'sequence':
      return e.sequence(...form.parts.map((part) => expressionOf(e, part)));
    case 'either':
      return e.either(...form.options.map((option) => expressionOf(e, option)));
    case 'repeated':
      return e.repeat(expressionOf(e, form.part));
  }
}
