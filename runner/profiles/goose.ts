import { join } from 'node:path'
import type { BuiltinTools } from '../../src/shared/runner-protocol.ts'
import { type LaunchFacts, type Profile, withInstructions } from './profile.ts'

const extensions = [
  'analyze',
  'apps',
  'chatrecall',
  'code_execution',
  'extensionmanager',
  'orchestrator',
  'skills',
  'summarize',
  'summon',
  'todo',
  'tom',
]
const files = ['write', 'edit', 'tree']
const tools: Record<BuiltinTools, string[]> = { none: [], files, shell: [...files, 'shell'] }

const extension = (name: string, available: string[]) => ({
  enabled: available.length > 0,
  type: 'platform',
  name,
  description: name,
  bundled: true,
  available_tools: available,
})

const provider = ({ protocol, relayUrl, key }: LaunchFacts): Record<string, string> =>
  protocol === 'openai-chat'
    ? {
        GOOSE_PROVIDER: 'openai',
        OPENAI_HOST: relayUrl,
        // With the default path, which this one equals, it uses the Responses API for some models.
        OPENAI_BASE_PATH: 'v1/./chat/completions',
        OPENAI_API_KEY: key,
      }
    : { GOOSE_PROVIDER: 'anthropic', ANTHROPIC_HOST: relayUrl, ANTHROPIC_API_KEY: key }

export const goose: Profile = {
  type: 'goose',
  interface: 'acp',
  protocols: ['openai-chat', 'anthropic-messages'],
  packageName: '@aaif/goose-acp',
  builtin: ['none', 'files', 'shell'],
  hasTools: true,
  listsToolsLate: false,
  launch: (facts) => ({
    command: [
      join(
        facts.programFolder,
        `node_modules/@aaif/goose-binary-${process.platform}-${process.arch}/bin/goose`,
      ),
      'acp',
    ],
    env: {
      ...provider(facts),
      GOOSE_MODEL: facts.order.model.name,
      GOOSE_CONTEXT_LIMIT: String(facts.order.model.context_tokens),
      GOOSE_MAX_TOKENS: String(facts.order.model.output_tokens),
      // Its own limit would end the turn like a good one: the relay's must come first.
      GOOSE_MAX_TURNS: String(facts.order.limits.model_requests + 1),
      GOOSE_DISABLE_KEYRING: '1',
      GOOSE_DISABLE_SESSION_NAMING: 'true',
      GOOSE_TELEMETRY_ENABLED: 'false',
      OPENAI_TIMEOUT: String(Math.ceil(facts.order.limits.silence_ms / 1000)),
    },
    files: {
      // JSON is YAML.
      '.config/goose/config.yaml': JSON.stringify({
        extensions: {
          developer: extension('developer', tools[facts.order.builtin]),
          ...Object.fromEntries(extensions.map((name) => [name, extension(name, [])])),
        },
      }),
    },
    prompt: withInstructions(facts),
  }),
  // A failed turn is an ordinary message and ends like a good one; only the count is missing.
  isSuccess: ({ result }) => typeof result.usage === 'object' && result.usage !== null,
}
