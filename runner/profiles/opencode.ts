import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { BuiltinTools } from '../../src/shared/runner-protocol.ts'
import { at, hubServer, type Profile } from './profile.ts'

const files = { read: 'allow', edit: 'allow', glob: 'allow', grep: 'allow', list: 'allow' }
const permissions: Record<BuiltinTools, Record<string, string>> = {
  none: {},
  files,
  shell: { ...files, bash: 'allow' },
}

/** The package that npm chose for this machine; its own start script is not needed. */
const findBinary = (folder: string): string => {
  const name = `opencode-${process.platform}-${process.arch}`
  const paths = [name, `${name}-musl`, `${name}-baseline`].map((each) =>
    join(folder, 'node_modules', each, 'bin/opencode'),
  )
  return paths.find(existsSync) ?? paths[0] ?? ''
}

export const opencode: Profile = {
  type: 'opencode',
  interface: 'acp',
  protocols: ['openai-chat'],
  packageName: 'opencode-ai',
  builtin: ['none', 'files', 'shell'],
  hasTools: true,
  listsToolsLate: false,
  launch: ({ order, relayUrl, key, programFolder }) => ({
    command: [findBinary(programFolder), 'acp'],
    env: {
      OPENCODE_DISABLE_MODELS_FETCH: '1',
      OPENCODE_DISABLE_AUTOUPDATE: '1',
      OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
      OPENCODE_DISABLE_DEFAULT_PLUGINS: '1',
      OPENCODE_DISABLE_PROJECT_CONFIG: '1',
      OPENCODE_DISABLE_CLAUDE_CODE: '1',
      OPENCODE_DISABLE_SHARE: '1',
      // Else it may compact without end.
      OPENCODE_DISABLE_AUTOCOMPACT: '1',
      OPENCODE_CONFIG_CONTENT: JSON.stringify({
        autoupdate: false,
        share: 'disabled',
        model: `hub/${order.model.name}`,
        small_model: `hub/${order.model.name}`,
        enabled_providers: ['hub'],
        default_agent: 'hub',
        provider: {
          hub: {
            npm: '@ai-sdk/openai-compatible',
            name: 'hub',
            options: { baseURL: `${relayUrl}/v1`, apiKey: key },
            models: {
              [order.model.name]: {
                name: order.model.name,
                tool_call: true,
                limit: { context: order.model.context_tokens, output: order.model.output_tokens },
                cost: { input: 0, output: 0 },
              },
            },
          },
        },
        agent: {
          hub: {
            mode: 'primary',
            prompt: order.system_prompt,
            permission: {
              '*': 'deny',
              [`${hubServer}_*`]: 'allow',
              ...permissions[order.builtin],
            },
          },
        },
      }),
    },
    files: {},
    prompt: order.prompt,
  }),
  isSuccess: ({ result }) => Number(at(result, 'usage', 'totalTokens') ?? 0) > 0,
}
