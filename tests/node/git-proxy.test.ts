import { randomBytes } from 'node:crypto'
import { deflateSync } from 'node:zlib'
import { expect, test } from 'vitest'
import type { GitSetUp } from '../support/git-world'
import { withGitWorld } from './git-client'

const zero = '0'.repeat(40)
const packet = (text: string) => (text.length + 4).toString(16).padStart(4, '0') + text

/** Returns the beginning of a pack with one long blob, stored uncompressed. */
function packBlob(size: number): Buffer {
  const head = [0x80 | (3 << 4) | (size & 15)]
  for (let rest = size >> 4; rest > 0; rest >>= 7) head.push((rest & 127) | (rest > 127 ? 128 : 0))
  const count = Buffer.from('PACK\0\0\0\x02\0\0\0\x01', 'latin1')
  return Buffer.concat([count, Buffer.from(head), deflateSync(Buffer.alloc(size), { level: 0 })])
}

test('X11: git clones, fetches and pushes with the credential of the hub, and only to branches of the pattern', async () => {
  await withGitWorld(async (world) => {
    const login = `Basic ${btoa('octo:secret-of-the-service')}`
    expect(new Set(world.service.logins)).toEqual(new Set([login]))
    expect(await world.takeAudit()).toMatchObject([
      { tool: 'git_fetch', grant: 'github:read', decision: 'allowed', outcome: 'ok' },
      { tool: 'git_fetch', arguments: { repository: 'acme/tools', reads: 'objects' } },
      { tool: 'git_fetch' },
    ])
    const { 'refs/heads/main': main = '' } = await world.listRefs()

    // New, moved on, with many objects.
    await world.setUp()
    await world.git('switch', '-c', 'rookery/one')
    await world.commit('one')
    const first = await world.git('push', 'origin', 'HEAD')
    expect(first.code, first.text).toBe(0)
    const one = (await world.git('rev-parse', 'HEAD')).text.trim()
    expect(await world.listRefs()).toMatchObject({ 'refs/heads/rookery/one': one })
    expect(await world.takeAudit()).toMatchObject([
      { tool: 'git_begin_push', grant: 'github:write:acme/tools', outcome: 'ok' },
      {
        tool: 'git_push',
        decision: 'allowed',
        outcome: 'ok',
        arguments: {
          refs: [{ ref: 'refs/heads/rookery/one', old: zero, new: one, may_be_forced: false }],
        },
      },
    ])
    await world.commit('large', randomBytes(6_000_000))
    // The service offers options, with which some merge what is pushed; the hub does not.
    const option = ['-o', 'merge_request.merge_when_pipeline_succeeds']
    const large = await world.git('push', ...option, '--atomic', 'origin', 'HEAD')
    expect(large.text).toContain('does not support push options')
    const chunked = await world.git('push', '--atomic', 'origin', 'HEAD')
    expect(chunked.code, chunked.text).toBe(0)

    // Rewritten: possible inside the pattern, and the former commit is on record.
    await world.setUp()
    await world.git('commit', '--amend', '-m', 'Rewritten')
    const forced = await world.git('push', '--force', 'origin', 'HEAD')
    expect(forced.code, forced.text).toBe(0)
    expect((await world.takeAudit()).at(-1)?.arguments.refs).toMatchObject([
      { may_be_forced: true, old: expect.not.stringMatching(/^0+$/) },
    ])
    const before = await world.listRefs()

    // Refused, each with everything that is pushed beside it.
    await world.setUp()
    await world.git('tag', 'v1')
    const refusals: [string[], string][] = [
      [['HEAD:main'], 'refs/heads/main'],
      [['HEAD:rookery/two', 'HEAD:main'], 'refs/heads/main'],
      [['--force', 'HEAD:main'], 'refs/heads/main'],
      [['v1'], 'refs/tags/v1'],
      [['HEAD:refs/for/main'], 'refs/for/main'],
      [['HEAD:refs/heads/rookery2'], 'refs/heads/rookery2'],
      [[':rookery/one'], 'refs/heads/rookery/one'],
      [['--atomic', 'HEAD:rookery/two', ':rookery/one'], 'refs/heads/rookery/one'],
    ]
    for (const [args, ref] of refusals) {
      const refused = await world.git('push', 'origin', ...args)
      expect(refused.code, refused.text).toBe(1)
      expect(refused.text).toMatch(/remote: Rookery: .*refused: /)
      expect(refused.text).toContain(`refused: ${ref}`)
      expect(refused.text).toMatch(/! \[remote rejected\]/)
    }
    // The last byte of a long one is read before the refusal is sent.
    await world.commit('larger', randomBytes(6_000_000))
    expect((await world.git('push', 'origin', 'HEAD:main')).text).toContain(
      '! [remote rejected] HEAD -> main (not allowed)',
    )
    expect(await world.listRefs()).toEqual(before)
    expect(before['refs/heads/main']).toBe(main)
    const pushes = (await world.takeAudit()).filter(({ tool }) => tool === 'git_push')
    expect(pushes.map(({ decision }) => decision)).toEqual(pushes.map(() => 'invalid'))
    expect(pushes).toHaveLength(refusals.length + 1)
    expect(pushes[0]?.arguments.refs).toMatchObject([{ ref: 'refs/heads/main', old: main }])
  })
})

test('X11: without grant, run or matching repository git prints why, and the service is not asked', async () => {
  await withGitWorld(async (world) => {
    await world.git('switch', '-c', 'rookery/one')
    await world.commit('one')
    const push = () => world.git('push', 'origin', 'HEAD')
    const fetchIt = () => world.git('fetch', 'origin')
    const before = await world.listRefs()
    const refused: [GitSetUp, () => Promise<{ code: number; text: string }>, string][] = [
      [{ allowed: [] }, fetchIt, 'remote: Missing grant github:read'],
      [{ allowed: ['github:read', 'github:write'] }, push, 'Missing grant github:write:acme/tools'],
      [{ allowed: ['github:*'], denied: ['github:write:*'] }, push, 'Missing grant'],
      [{ isRunning: false }, fetchIt, 'remote: This request has no valid key'],
      [{ runAttempt: 2 }, push, 'remote: This request has no valid key'],
      [{ audience: ['mcp', 'models'] }, fetchIt, 'remote: This request has no valid key'],
      [
        { toolRestrictions: { allow: [], deny: ['git_push'], servers: [], blockedPatterns: [] } },
        push,
        'the definition excludes the tool',
      ],
    ]
    for (const [next, act, text] of refused) {
      await world.setUp(next)
      world.service.logins.length = 0
      const answer = await act()
      expect(answer.text).toContain(text)
      expect(answer.code).not.toBe(0)
      // With a grant to push, but not for the push itself, the refs were read.
      expect(world.service.logins.length).toBeLessThanOrEqual(1)
    }
    // Tools that the definition lists do not close its own repository.
    const listed = { allow: ['hub_*'], deny: [], servers: ['hub'], blockedPatterns: [] }
    await world.setUp({ toolRestrictions: listed })
    expect((await fetchIt()).code).toBe(0)
    await world.setUp({ toolRestrictions: listed, workspace: null })
    expect((await fetchIt()).text).toContain('definition does not allow')

    // Another repository than the run's.
    await world.setUp({ workspace: { repository: 'github/acme/other', push: ['*'] } })
    expect((await push()).text).toContain(
      'this run may push to the repository of its workspace only',
    )
    await world.setUp({ allowed: ['github:*'] })
    const other = new URL('/git/github/acme/other.git', world.hub).href
    expect((await world.git('push', other, 'HEAD')).text).toContain('of its workspace only')
    await world.setUp({ requireApproval: ['tool:git_push'] })
    expect((await push()).text).toMatch(/remote: Rookery: .*requires approval/)

    // A key of a person: grants decide, and the default pattern holds.
    await world.setUp({ scopes: ['read', 'write'] })
    world.token = 'rookery_key_of_ada'
    expect((await world.git('push', 'origin', 'HEAD:main')).text).toContain('[remote rejected]')
    expect(await world.listRefs()).toEqual(before)
    await world.setUp({ scopes: ['read'] })
    world.token = 'rookery_key_of_ada'
    expect((await push()).text).toContain('the scopes of this key do not allow it')
    await world.setUp({ scopes: ['read', 'write'] })
    world.token = 'rookery_key_of_ada'
    expect((await push()).code).toBe(0)

    // What the service refuses is said without its credential, and a redirect is not followed.
    await world.setUp()
    const elsewhere = (path: string) => world.git('ls-remote', new URL(path, world.hub).href)
    expect((await elsewhere('/git/github/acme/missing')).text).toContain('answered 404')
    expect((await elsewhere('/git/github/acme/moved')).text).toContain('redirects')
    await world.setUp({ allowed: ['git:public:read'] })
    expect((await elsewhere('/git/public/acme/tools')).text).toContain('not on the public internet')
  })
})

test('X11 X13: a push is on record before it goes out and after it', async () => {
  await withGitWorld(async (world) => {
    await world.git('switch', '-c', 'rookery/one')
    await world.commit('one')
    const before = await world.listRefs()
    const push = () => world.git('push', 'origin', 'HEAD')
    const begun = { tool: 'git_push', isWrite: true, isPush: true, attempt: 1 }
    for (const [record, text] of [
      ['gone', 'the call was not run'],
      ['refused', 'This run is over'],
    ] as const) {
      await world.setUp({ record })
      const answer = await push()
      expect(answer.code, answer.text).toBe(1)
      expect(answer.text).toContain(text)
      expect(await world.listCalls()).toMatchObject([begun])
      expect(await world.listRefs()).toEqual(before)
      await world.git('update-ref', '-d', 'refs/remotes/origin/rookery/one')
    }
    await world.setUp()
    expect((await world.git('push', 'origin', 'HEAD:main')).code).toBe(1)
    expect(await world.listCalls()).toMatchObject([
      { ...begun, refs: [{ ref: 'refs/heads/main' }] },
      { isError: true, decision: expect.not.stringMatching('allowed') },
    ])
    await world.setUp()
    expect((await push()).code).toBe(0)
    const ended = { isError: false, decision: 'allowed' }
    await expect.poll(() => world.listCalls()).toMatchObject([begun, ended])
    // A person's key is no run.
    await world.commit('two')
    await world.setUp({ scopes: ['read', 'write'] })
    world.token = 'rookery_key_of_ada'
    expect((await push()).code).toBe(0)
    expect(await world.listCalls()).toEqual([])
  })
})

test('X11: only three paths exist, and a push that cannot be read changes nothing', async () => {
  await withGitWorld(async (world) => {
    const base = '/git/github/acme/tools'
    const before = await world.listRefs()
    for (const path of [
      base,
      `${base}/HEAD`,
      `${base}/info/refs`,
      `${base}/info/refs?service=git-upload-archive`,
      `${base}/info/refs?service=git-upload-pack&x=1`,
      `${base}/objects/info/packs`,
      `${base}/git-upload-archive`,
      '/git/github/acme/..%2ftools/info/refs?service=git-upload-pack',
      '/git/github/.git/tools/info/refs?service=git-upload-pack',
    ]) {
      const headers = { authorization: `Bearer ${world.token}` }
      expect((await fetch(new URL(path, world.hub), { headers })).status, path).toBe(404)
    }
    const push = `${base}/git-receive-pack`
    const line = `${zero} ${'1'.repeat(40)} refs/heads/rookery/x`
    const caps = '\0report-status side-band-64k'
    expect((await world.post(push, '0000')).status).toBe(200)
    expect((await world.post(push, '0000', { 'content-encoding': 'gzip' })).status).toBe(415)
    expect((await world.post(push, '0000', { 'content-type': 'text/plain' })).status).toBe(415)
    world.service.logins.length = 0
    const unreadable = [
      packet(`push-cert${caps}`),
      packet(`${line}${caps}`),
      `${packet(`${line}${caps}`)}0001`,
      `${packet(`${line}${caps}`)}0004`,
      `${packet(`${line}${caps}\n`)}${packet('nonsense')}0000`,
      `${packet(`${zero} 1 refs/heads/rookery/x${caps}`)}0000`,
      `${packet(`${line}${caps}`)}${packet(line.replace('x', 'y')).repeat(100)}0000`,
      `${packet(`${line}/../../main${caps}`)}0000`,
      `${packet(`${line}\tmain${caps}`)}0000`,
      `${packet(`${line}${caps} push-options`)}0000${packet('merge_request.create')}0000`,
    ]
    for (const body of unreadable) {
      const answer = await world.post(push, body)
      expect(answer.status).toBe(200)
      expect(await answer.text(), body).toContain('\x02Rookery: ')
    }
    const options = await (await world.post(push, unreadable.at(-1) ?? '')).text()
    expect(options).toContain('push options are not supported: push without -o')
    // Without the side band the report stands alone.
    const plain = await world.post(
      push,
      `${packet(`${line.replace('rookery/', '')}\0report-status`)}0000`,
    )
    expect(await plain.text()).toBe(
      `${packet('unpack ok\n')}${packet('ng refs/heads/x not allowed\n')}0000`,
    )
    expect(world.service.logins).toEqual([])

    const long = Buffer.concat([
      Buffer.from(`${packet(`${line}${caps}`)}0000`),
      packBlob(65 * 1024 * 1024),
    ])
    expect(await (await world.post(push, long)).text()).toContain('at most 64 MiB')
    expect(await world.listRefs()).toEqual(before)
  })
})
