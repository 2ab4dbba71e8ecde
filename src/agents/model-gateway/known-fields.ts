import type { ModelProtocol } from '../../shared/runner-protocol'

interface KnownFields {
  /** Passed on to the provider. */
  passed: readonly string[]
  /** Left out of what the provider gets: without them the answer is the same, or one for the tariff that is reserved. */
  dropped: readonly string[]
}

/** Fields that say how many answers a provider makes. One is the default, so it is left out. */
export const answerCounts: readonly string[] = [
  ...['n', 'best_of', 'num_choices', 'num_completions', 'num_return_sequences', 'candidate_count'],
]

/** Fields that choose a tariff other than the one that is reserved. */
const tariffs = ['service_tier', 'speed', 'inference_geo']

/**
 * What a body may have at its top, by protocol. A field that is in neither list is refused: it may cost what the hub does
 * not see, or go around its grants, and left out silently it would leave the program with a wrong belief.
 */
export const knownFields: Record<ModelProtocol, KnownFields> = {
  'anthropic-messages': {
    passed: [
      ...['model', 'max_tokens', 'messages', 'system', 'stream', 'metadata', 'cache_control'],
      ...['temperature', 'top_p', 'top_k', 'stop_sequences', 'thinking'],
      ...['tools', 'tool_choice', 'output_config', 'output_format', 'context_management'],
    ],
    // Remarks for the provider's statistics and logs.
    dropped: [...tariffs, 'diagnostics', 'context_hint', 'betas'],
  },
  'openai-chat': {
    passed: [
      ...['model', 'max_tokens', 'max_completion_tokens', 'messages', 'stream', 'stream_options'],
      ...['temperature', 'top_p', 'top_k', 'min_p', 'stop', 'seed', 'logit_bias', 'logprobs'],
      ...['top_logprobs', 'frequency_penalty', 'presence_penalty', 'repetition_penalty'],
      ...['tools', 'tool_choice', 'parallel_tool_calls', 'functions', 'function_call'],
      ...['response_format', 'modalities', 'verbosity', 'reasoning', 'reasoning_effort'],
      ...['thinking', 'enable_thinking', 'chat_template_kwargs', 'prompt_cache_key', 'user'],
      'safety_identifier',
    ],
    // Metadata is for stored answers only. The last one asks for the usage that streams have anyway.
    dropped: [...tariffs, 'store', 'metadata', 'prompt_cache_retention', 'usage'],
  },
  'openai-responses': {
    passed: [
      ...['model', 'max_output_tokens', 'input', 'instructions', 'stream', 'stream_options'],
      ...['temperature', 'top_p', 'top_logprobs', 'text', 'reasoning', 'truncation', 'include'],
      ...['tools', 'tool_choice', 'parallel_tool_calls', 'prompt_cache_key', 'user'],
      ...['metadata', 'safety_identifier'],
    ],
    // A limit of the provider's own tools, which are refused, and remarks on the program and its machine.
    dropped: [...tariffs, 'store', 'max_tool_calls', 'client_metadata', 'prompt_cache_retention'],
  },
}

/** What an object among these fields may have, where the others would have a price of their own. */
export const knownParts: Record<ModelProtocol, Record<string, readonly string[]>> = {
  'anthropic-messages': { output_config: ['effort', 'format', 'task_budget'] },
  'openai-chat': { reasoning: ['effort', 'max_tokens', 'enabled', 'exclude'] },
  'openai-responses': { reasoning: ['effort', 'summary', 'generate_summary'] },
}

/** Types of items and content parts whose price the bytes of a prompt bound, or that are measured otherwise. */
export const knownContent: Record<ModelProtocol, ReadonlySet<string>> = {
  'anthropic-messages': new Set([
    ...['message', 'text', 'image', 'tool_use', 'tool_result', 'thinking', 'redacted_thinking'],
    ...['document', 'search_result', 'tool_reference', 'tool_addition', 'tool_removal'],
  ]),
  'openai-chat': new Set(['message', 'text', 'image_url', 'refusal']),
  'openai-responses': new Set([
    ...['message', 'input_text', 'output_text', 'text', 'input_image', 'refusal'],
    ...['reasoning', 'summary_text', 'reasoning_text'],
    ...['function_call', 'function_call_output', 'custom_tool_call', 'custom_tool_call_output'],
    ...['local_shell_call', 'local_shell_call_output', 'shell_call', 'shell_call_output'],
    ...['apply_patch_call', 'apply_patch_call_output', 'tool_search_call', 'tool_search_output'],
  ]),
}
