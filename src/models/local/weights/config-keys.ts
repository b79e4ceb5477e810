/** Rejects unknown keys that are set in published JSON files, because they might change a result. */
import { type Problem, UserError } from '../../../base/errors.js';

/** Known keys of one kind of file. */
export interface KnownKeys {
  readonly readKeys: readonly string[];
  /** Keys that never affect a result. */
  readonly harmlessKeys?: ReadonlySet<string>;
  /** Keys that have no effect at this value or null. Others have no effect if they are null, false, `none` or empty. */
  readonly neutral?: Readonly<Record<string, unknown>>;
}

/** @param section e.g. `rope_scaling` @throws UserError naming up to 8 unknown keys */
export function rejectUnknownKeys(content: object, known: KnownKeys, file: string, section = ''): void {
  const problems = Object.entries(content)
    .filter(([key, value]) => !known.readKeys.includes(key) && hasEffect(key, value, known))
    .map(([key, value]) => unknownKeyProblem(file, section === '' ? key : `${section}.${key}`, value));
  if (problems.length > 0) throw new UserError(problems.slice(0, 8));
}

function hasEffect(key: string, value: unknown, { harmlessKeys, neutral = {} }: KnownKeys): boolean {
  if (value === null || harmlessKeys?.has(key)) return false;
  return Object.hasOwn(neutral, key) ? neutral[key] !== value : !isOff(value);
}

/** True if a value means that a feature is off. */
function isOff(value: unknown): boolean {
  if (typeof value === 'object' && value !== null) return Object.keys(value).length === 0;
  return value === false || value === 'none' || value === '';
}

const unknownKeyProblem = (file: string, field: string, value: unknown): Problem => ({
  file,
  field,
  value,
  message: 'unknown key that may change what the model computes',
  hint: ignoreHint(field),
});

export function ignoreHint(key: string): string {
  return `if it changes nothing, ignore it with model.ignoreKeys=[${key}] (in training configs, ignoreKeys) or --ignore-keys ${key}`;
}

/** Returns the content of a file without the keys that the user wants to ignore. Dots address nested keys. */
export function withoutKeys(content: unknown, ignored: readonly string[], section = ''): unknown {
  if (ignored.length === 0 || typeof content !== 'object' || content === null || Array.isArray(content))
    return content;
  return Object.fromEntries(
    Object.entries(content)
      .filter(([key]) => !ignored.includes(section + key))
      .map(([key, value]) => [key, withoutKeys(value, ignored, `${section}${key}.`)]),
  );
}

const namesIn = (...lists: readonly string[]): ReadonlySet<string> =>
  new Set(lists.flatMap((list) => list.split(' ')));

/** Keys of `config.json` that the decoder can ignore. */
export const harmlessModelKeys = namesIn(
  // Where the files come from and which program wrote them.
  '_name_or_path name_or_path _model_name_or_path model_name_or_path _commit_hash _from_auto transformers_version transformers.js_config unsloth_version unsloth_fixed is_llama_config',
  // Implementation details that don't change the result.
  'attn_implementation _attn_implementation _attn_implementation_autoset _attn_implementation_internal _flash_attn_2_enabled use_flash_attention use_flash_attn use_flash_attention_2 flash_attention pretraining_tp gradient_checkpointing use_cache chunk_size_feed_forward torchscript use_bfloat16 tf_legacy_loss is_decoder experts_implementation _experts_implementation base_model_tp_plan base_model_pp_plan',
  // For training only.
  'initializer_range attention_dropout hidden_dropout hidden_dropout_prob attention_probs_dropout_prob attn_pdrop resid_pdrop embd_pdrop dropout layerdrop',
  // Outputs in addition to the logits.
  'return_dict output_attentions output_hidden_states output_scores return_dict_in_generate use_return_dict',
  // For classifiers; only causal language models are supported.
  'id2label label2id num_labels problem_type finetuning_task classifier_dropout',
  // Tokens, which are read from the tokenizer.
  'bos_token_id pad_token_id sep_token_id unk_token_id decoder_start_token_id tokenizer_class',
  // The maximum length, which max_position_embeddings also states.
  'max_sequence_length model_max_length max_seq_len seq_length',
  // For generation, which generation_config.json and the experiment configure.
  'max_length min_length max_new_tokens do_sample early_stopping num_beams num_beam_groups diversity_penalty temperature top_k top_p min_p typical_p epsilon_cutoff eta_cutoff repetition_penalty encoder_repetition_penalty length_penalty no_repeat_ngram_size encoder_no_repeat_ngram_size bad_words_ids num_return_sequences forced_bos_token_id forced_eos_token_id remove_invalid_values exponential_decay_length_penalty suppress_tokens begin_suppress_tokens',
);

/** Keys of `adapter_config.json` that don't affect the product of A and B. */
export const harmlessAdapterKeys = namesIn(
  // Where the files come from and which program wrote them.
  'auto_mapping peft_version revision swift_version unsloth_version unsloth_fixed',
  // Implementation details that don't change the result.
  'inference_mode megatron_core runtime_config',
  // For training only.
  'lora_dropout lora_dtype lorap_lr_ratio lorap_emb_lr loraplus_lr_ratio qalora_group_size',
  // Initialisation of the factors; init_lora_weights states whether it changed the base.
  'eva_config corda_config lora_ga_config loftq_config',
);
