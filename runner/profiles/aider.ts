import { join } from 'node:path'
import { type Profile, withInstructions } from './profile.ts'

/** Files that it writes below the temporary folder. */
export const aiderFiles = { history: 'aider-history.md', analytics: 'aider-analytics.jsonl' }

/** Written by its documentation and not tried with the program itself. It edits files and uses no tools of the hub. */
export const aider: Profile = {
  type: 'aider',
  interface: 'command-line',
  protocols: ['openai-chat', 'anthropic-messages'],
  packageName: null,
  builtin: ['files', 'shell'],
  hasTools: false,
  listsToolsLate: false,
  launch: (facts) => {
    const { order, protocol, relayUrl, key, temp, programFolder } = facts
    const isOpenAi = protocol === 'openai-chat'
    return {
      command: [
        join(programFolder, 'bin/aider'),
        '--model',
        `${isOpenAi ? 'openai' : 'anthropic'}/${order.model.name}`,
        '--message-file',
        join(temp, 'aider-task.md'),
        '--chat-history-file',
        join(temp, aiderFiles.history),
        '--analytics-log',
        join(temp, aiderFiles.analytics),
        '--yes-always',
        '--no-stream',
        '--no-pretty',
        '--no-auto-commits',
        '--no-gitignore',
        '--no-check-update',
        '--no-show-release-notes',
        '--no-show-model-warnings',
        '--no-detect-urls',
        '--no-suggest-shell-commands',
      ],
      env: isOpenAi
        ? { OPENAI_API_BASE: `${relayUrl}/v1`, OPENAI_API_KEY: key }
        : { ANTHROPIC_API_BASE: relayUrl, ANTHROPIC_API_KEY: key },
      files: { '../tmp/aider-task.md': withInstructions(facts) },
      prompt: '',
    }
  },
  // It ends with 0 also after an error of the model.
  isSuccess: ({ result }) => result.hasSentMessage === true,
}
