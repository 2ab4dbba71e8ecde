import { join } from 'node:path'
import type { RunOrder } from '../../src/shared/runner-protocol.ts'
import { at, type Profile } from './profile.ts'

const toml = (text: string): string => JSON.stringify(text)

const catalogFile = '.codex/models.json'

/**
 * What codex is to know of the model. For models that it knows itself it would use a form of requests that only OpenAI's
 * own service has, hide the hub's tools behind a tool that runs JavaScript, and start agents of its own.
 */
const toCatalog = ({ model }: RunOrder) => ({
  models: [
    {
      slug: model.name,
      display_name: model.name,
      base_instructions:
        'You are a coding agent. Use your tools until the task is done or cannot be done, then say in a short message what you found or changed.',
      context_window: model.context_tokens,
      input_modalities: ['text', 'image'],
      default_reasoning_level: 'medium',
      supported_reasoning_levels: ['low', 'medium', 'high'].map((effort) => ({
        effort,
        description: effort,
      })),
      default_reasoning_summary: 'auto',
      shell_type: 'unified_exec',
      apply_patch_tool_type: null,
      supports_parallel_tool_calls: true,
      support_verbosity: false,
      truncation_policy: { mode: 'tokens', limit: 10_000 },
      experimental_supported_tools: [],
      visibility: 'list',
      supported_in_api: true,
      priority: 1,
      availability_nux: null,
      upgrade: null,
    },
  ],
})

export const codex: Profile = {
  type: 'codex',
  interface: 'acp',
  protocols: ['openai-responses'],
  packageName: '@openai/codex',
  // Without commands it offers no tool that edits files.
  builtin: ['none', 'shell'],
  hasTools: true,
  listsToolsLate: true,
  launch: ({ order, relayUrl, key, home, programFolder }) => ({
    command: [
      process.execPath,
      join(programFolder, 'node_modules/@agentclientprotocol/codex-acp/dist/index.js'),
    ],
    env: {
      // The mode between these sends every call of a tool to a model that allows or denies it. Its own sandbox cannot
      // run inside ours, so that commands need the one without.
      INITIAL_AGENT_MODE: order.builtin === 'none' ? 'read-only' : 'agent-full-access',
      ROOKERY_RELAY_KEY: key,
      // Nobody would read a proposal for the user's next message.
      CODEX_ACP_PROMPT_SUGGESTIONS: 'false',
    },
    files: {
      [catalogFile]: JSON.stringify(toCatalog(order)),
      '.codex/config.toml': `model = ${toml(order.model.name)}
model_catalog_json = ${toml(join(home, catalogFile))}
model_provider = "hub"
model_context_window = ${order.model.context_tokens}
web_search = "disabled"
developer_instructions = ${toml(order.system_prompt)}

[model_providers.hub]
name = "hub"
base_url = ${toml(`${relayUrl}/v1`)}
env_key = "ROOKERY_RELAY_KEY"
wire_api = "responses"
request_max_retries = 1
stream_max_retries = 1
stream_idle_timeout_ms = ${order.limits.silence_ms}

[features]
shell_tool = ${order.builtin === 'shell'}
multi_agent = false
goals = false
apps = false
plugins = false

[analytics]
enabled = false
`,
    },
    prompt: order.prompt,
  }),
  isSuccess: ({ hasFailureUpdate }) => !hasFailureUpdate,
  isFailureUpdate: (update) =>
    at(update, '_meta', 'codex', 'threadStatus', 'type') === 'systemError',
}
