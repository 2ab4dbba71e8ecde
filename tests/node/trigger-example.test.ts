import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { expect, test } from 'vitest'
import type { TriggerKey } from '../../src/hub/contract/triggers.ts'
import { createTriggerSecrets } from '../../src/mcp-servers/triggers.ts'
import { formatExample } from '../../src/web/settings/trigger-example.ts'

const run = promisify(execFile)
const url = 'http://hub.test/api/v1/triggers/t1'
const template = 'New: {{ issue.title }}\n{{ labels.0.name }} {{ sender }}'

/** Runs the commands of an example and returns what they give to curl. */
async function runExample(
  script: string,
): Promise<{ address: string; headers: Map<string, string>; body: string }> {
  const { stdout } = await run('sh', ['-euc', `curl() { printf '%s\\n' "$@"; }\n${script}`])
  const [address = '', ...given] = stdout.trimEnd().split('\n')
  const pairs = given.flatMap((each, at) =>
    given[at - 1] === '-H' ? [each.split(': ') as [string, string]] : [],
  )
  const headers = new Map(pairs.map(([name, value]) => [name.toLowerCase(), value]))
  return { address, headers, body: given.at(-1) ?? '' }
}

test.each(['standard', 'github', 'bearer'] as const)(
  'O2: the example for %s sends what the hub verifies',
  async (verify) => {
    const secrets = createTriggerSecrets([btoa('0123456789abcdef0123456789abcdef')])
    const trigger: TriggerKey = { id: 't1', verify, secretVersion: 1, oldSecretsUntil: [] }
    const secret = (await secrets.read(trigger)) ?? ''
    const { address, headers, body } = await runExample(
      formatExample({ verify, template }, url, secret),
    )
    expect(address).toBe(url)
    expect(JSON.parse(body)).toEqual({
      issue: { title: 'the title' },
      labels: [{ name: 'the name' }],
      sender: 'the sender',
    })
    const sent = {
      body: new Uint8Array(new TextEncoder().encode(body)),
      header: (name: string) => headers.get(name),
    }
    expect(headers.get('content-type')).toBe('application/json')
    expect(await secrets.check(trigger, sent, Date.now())).toBe('valid')
    expect(await secrets.check({ ...trigger, id: 't2' }, sent, Date.now())).toBe('signature')
  },
)
