import { join } from 'node:path'
import { at, type Profile } from './profile.ts'

const toml = (text: string): string => JSON.stringify(text)

export const codex: Profile = {
  type: 'codex',
  interface: 'acp',
  protocols: ['openai-responses'],
  packageName: '@openai/codex',
  // Without commands it offers no tool that edits files.
  builtin: ['none', 'shell'],
  hasTools: true,
  listsToolsLate: true,
  launch: ({ order, relayUrl, key, programFolder }) => ({
    command: [
      process.execPath,
      join(programFolder, 'node_modules/@agentclientprotocol/codex-acp/dist/index.js'),
    ],
    env: {
      // The mode between these sends every call of a tool to a model that allows or denies it. Its own sandbox cannot
      // run inside ours, so that commands need the one without.
      INITIAL_AGENT_MODE: order.builtin === 'none' ? 'read-only' : 'agent-full-access',
      ROOKERY_RELAY_KEY: key,
    },
    files: {
      '.codex/config.toml': `model = ${toml(order.model.name)}
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
