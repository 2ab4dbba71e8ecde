import type { ModelProtocol } from '../../../src/shared/runner-protocol'

const json = (properties: object = {}) => ({ type: 'object', properties })
const mark = { type: 'ephemeral' }
const claudeTool = (name: string, more: object = {}) => ({
  name,
  description: 'x',
  input_schema: json(),
  ...more,
})
const codexTool = (name: string) => ({
  type: 'function',
  name,
  description: 'x',
  strict: false,
  parameters: json(),
})

const claude = {
  system: [
    { type: 'text', text: 'You are an agent.' },
    { type: 'text', text: 'You answer questions about tickets.', cache_control: mark },
  ],
  messages: [
    { role: 'user', content: [{ type: 'text', text: 'What does ticket 7 say?' }] },
    { role: 'system', content: [{ type: 'text', text: 'A tool was added.' }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 'Look.', signature: 'c2ln' },
        { type: 'text', text: 'Let me see.' },
        { type: 'tool_use', id: 't1', name: 'mcp__rookery__get_ticket', input: { id: '7' } },
      ],
    },
    {
      role: 'user',
      content: [
        {
          type: 'tool_result',
          tool_use_id: 't1',
          cache_control: mark,
          content: [{ type: 'text', text: 'The printer is out of paper.' }],
        },
      ],
    },
  ],
  tools: [
    claudeTool('Bash'),
    claudeTool('DeferredToolPlaceholder', { defer_loading: true }),
    claudeTool('mcp__rookery__get_ticket'),
  ],
  metadata: { user_id: '{"device_id":"d","account_uuid":"","session_id":"s"}' },
  max_tokens: 8_000,
  output_config: { effort: 'high' },
  stream: true,
}

/** Bodies of the pinned versions of the programs, shortened, with the fields that reach the provider. */
export const realRequests: {
  program: string
  protocol: ModelProtocol
  body: object
  gone: string[]
}[] = [
  { program: 'claude-code', protocol: 'anthropic-messages', body: claude, gone: [] },
  {
    program: 'claude-code, title',
    protocol: 'anthropic-messages',
    gone: [],
    body: {
      ...claude,
      tools: [],
      output_config: { effort: 'high', format: { type: 'json_schema', schema: json() } },
    },
  },
  {
    program: 'claude-code, thinking',
    protocol: 'anthropic-messages',
    gone: ['speed', 'diagnostics'],
    body: {
      ...claude,
      thinking: { type: 'adaptive', display: 'updates' },
      speed: 'fast',
      diagnostics: { previous_message_id: null },
      context_management: { edits: [{ type: 'clear_thinking_20251015', keep: 'all' }] },
    },
  },
  {
    program: 'codex',
    protocol: 'openai-responses',
    gone: ['client_metadata'],
    body: {
      stream: true,
      tool_choice: 'auto',
      parallel_tool_calls: true,
      store: false,
      reasoning: { effort: 'medium', summary: 'auto' },
      prompt_cache_key: 'k',
      include: ['reasoning.encrypted_content'],
      client_metadata: { session_id: 's', 'x-codex-installation-id': 'i' },
      input: [
        {
          type: 'message',
          role: 'developer',
          id: 'm1',
          content: [{ type: 'input_text', text: 'You answer questions.' }],
        },
        { type: 'reasoning', summary: [], encrypted_content: 'AAAA' },
        {
          type: 'function_call',
          id: 'f1',
          call_id: 'c1',
          status: 'completed',
          name: 'get_ticket',
          namespace: 'mcp__rookery',
          arguments: '{"id":"7"}',
        },
        {
          type: 'function_call_output',
          id: 'o1',
          call_id: 'c1',
          output: [{ type: 'input_text', text: 'The printer is out of paper.' }],
        },
        {
          type: 'message',
          role: 'assistant',
          id: 'm2',
          status: 'completed',
          content: [{ type: 'output_text', text: 'The printer.' }],
        },
      ],
      tools: [
        codexTool('exec_command'),
        {
          type: 'namespace',
          name: 'mcp__rookery',
          description: 'x',
          tools: [codexTool('get_ticket')],
        },
      ],
    },
  },
  {
    program: 'opencode',
    protocol: 'openai-chat',
    gone: [],
    body: {
      max_tokens: 8_000,
      stream: true,
      stream_options: { include_usage: true },
      tool_choice: 'auto',
      messages: [
        { role: 'system', content: 'You answer questions about tickets.' },
        { role: 'user', content: [{ type: 'text', text: 'What does ticket 7 say?' }] },
        {
          role: 'assistant',
          content: null,
          tool_calls: [
            {
              id: 'c1',
              type: 'function',
              function: { name: 'rookery_get_ticket', arguments: '{"id":"7"}' },
            },
          ],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'The printer is out of paper.' },
      ],
      tools: [
        {
          type: 'function',
          function: { name: 'rookery_get_ticket', description: 'x', parameters: json() },
        },
      ],
    },
  },
]
