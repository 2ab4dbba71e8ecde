import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { HubClient } from '../client.ts'
import { type Command, CommandError, textOf } from './command.ts'
import { readStdin } from './read-text.ts'
import { defaultHub, saveLogin } from './saved-login.ts'

/** Reads a key: from a prompt that does not show it, or from what is piped in. Never from arguments. */
async function readKey(signal: AbortSignal): Promise<string> {
  if (!process.stdin.isTTY) return (await readStdin()).split('\n')[0]?.trim() ?? ''
  process.stderr.write('Key: ')
  const hidden = new Writable({ write: (_chunk, _encoding, done) => done() })
  const lines = createInterface({ input: process.stdin, output: hidden, terminal: true })
  try {
    return (await lines.question('', { signal })).trim()
  } finally {
    lines.close()
    process.stderr.write('\n')
  }
}

export const login: Command = {
  args: '',
  says: 'Saves the address of a hub and your key',
  more: 'The key is read from a prompt, or from stdin when it is piped in, and saved in a file that only you can read. Create a key at /settings/keys.',
  options: {
    hub: { type: 'string', value: 'url', says: `address of the hub; default ${defaultHub}` },
  },
  example: 'rookery login --hub https://hub.example',
  count: [0, 0],
  async run(context) {
    const { env, signal, out } = context
    const given = textOf(context, 'hub') ?? env.ROOKERY_URL ?? defaultHub
    if (!URL.canParse(given) || !/^https?:/.test(given)) {
      throw new CommandError(
        'usage',
        `${given} is no address.`,
        'Give one such as https://hub.example.',
      )
    }
    const hub = given.replace(/(?<!\/)\/+$/, '')
    const key = await readKey(signal)
    if (key === '') throw new CommandError('usage', 'There is no key.', 'Paste it, or pipe it in.')
    const client = new HubClient({ url: hub, key })
    const { account } = await client.call('GET /me', { signal })
    const path = saveLogin(env, { hub, key })
    out.print(
      { hub, account: account.name, saved: path },
      `You are ${account.name} on ${hub}. Saved in ${path}.`,
    )
    return undefined
  },
}
