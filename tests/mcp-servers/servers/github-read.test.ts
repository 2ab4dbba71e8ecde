import { describe, expect, test } from 'vitest'
import { github } from '../../../src/shared/config'
import { setUpGithub, token } from './set-up-github'

const bytes = (value: unknown) => JSON.stringify(value).length

describe('what a model gets of GitHub', () => {
  test('M1: repositories of an organisation, of a user, and those within reach', async () => {
    const { answer, state } = await setUpGithub()
    const reachable = await answer('github_list_repos', { per_page: 1 })
    expect(reachable).toEqual({
      repos: [
        {
          name: 'acme/tools',
          description: 'What we work with.',
          private: true,
          default_branch: 'main',
          language: 'TypeScript',
          open_issues: 3,
          pushed_at: '2026-11-20T09:00:00Z',
          url: 'https://github.com/acme/tools',
        },
      ],
      page: 1,
      has_more: true,
    })
    expect((await answer('github_list_repos', { owner: 'acme' })).has_more).toBe(false)
    const { repos } = await answer('github_list_repos', { owner: 'ada' })
    expect(repos).toMatchObject([{ name: 'ada/notes', private: false }])
    const { log } = await state()
    expect(log.map(({ path }) => path.replace(/\?.*/, ''))).toEqual([
      '/user/repos',
      '/orgs/acme/repos',
      '/orgs/ada/repos',
      '/users/ada/repos',
    ])
    expect(log[0]).toMatchObject({ authorization: `Bearer ${token}`, version: github.apiVersion })
    expect(log[0]?.path).toBe('/user/repos?page=1&per_page=1&sort=pushed')
  })

  test('M1: a file as text, in parts, a folder as its entries, and no bytes that are no text', async () => {
    const { ask, state } = await setUpGithub()
    expect((await ask('get_file', { path: '/README.md', ref: 'main' })).text).toBe(
      '# Tools\n\nA grüner Anfang.\n',
    )
    expect((await ask('get_file', { path: 'src/deep/a b.ts' })).text).toBe('export const a = 1\n')
    const first = await ask('get_file', { path: 'long.txt' })
    expect(first).toMatchObject({ size: 100_000, next_offset: github.fileCharsMax })
    const last = await ask('get_file', { path: 'long.txt', offset: 80_000 })
    expect(last.text.length).toBe(20_000)
    expect(last.next_offset).toBeUndefined()
    expect(await ask('get_file', { path: 'logo.png' })).toMatchObject({
      size: 7,
      text: null,
      note: 'The file is not text.',
    })
    expect((await ask('get_file', { path: '' })).entries).toContainEqual({
      name: 'README.md',
      type: 'file',
      size: 9,
    })
    const { log } = await state()
    expect(log[0]?.path).toBe('/repos/acme/tools/contents/README.md?ref=main')
  })

  test('M6: a credential that a file holds is taken out of it, before the file is cut', async () => {
    const { ask, plan } = await setUpGithub()
    for (const before of [3, 38, github.fileCharsMax - 5]) {
      const text = `${'x'.repeat(before)}${token} and more`
      // a line of base64 ends within the credential
      const content = btoa(text).replace(/.{60}/g, '$&\n')
      const file = { type: 'file', encoding: 'base64', size: text.length, sha: 'f', content }
      await plan({ method: 'GET', status: 200, body: file })
      const read = await ask('get_file', { path: 'leak.txt' })
      expect(read.text.slice(before)).toBe(
        '[redacted] and more'.slice(0, read.text.length - before),
      )
      expect(read.text).not.toContain('ghp_')
    }
  })

  test('M1: names that would lead elsewhere are no names', async () => {
    const { call, state } = await setUpGithub()
    for (const args of [
      { owner: '..', repo: 'tools', path: 'a' },
      { owner: 'acme', repo: '..', path: 'a' },
      { owner: 'acme/x', repo: 'tools', path: 'a' },
      { owner: 'acme', repo: 'tools', path: 'a/../../b' },
      { owner: 'acme', repo: 'tools', path: '..' },
      { owner: 'acme', repo: 'tools', path: 'a', ref: 'x y' },
    ]) {
      const { text, isError } = await call('github_get_file', args)
      expect(isError, text).toBe(true)
    }
    expect((await state()).log).toEqual([])
  })

  test('M1: code that matches, with its passages', async () => {
    const { answer, state } = await setUpGithub()
    const found = await answer('github_search_code', { query: 'retry repo:acme/tools', page: 2 })
    expect(found).toEqual({
      total_count: 41,
      files: [
        {
          repo: 'acme/tools',
          path: 'src/retry.ts',
          url: 'https://github.com/acme/tools/blob/main/src/retry.ts',
          passages: ['found retry repo:acme/tools'],
        },
      ],
      page: 2,
      has_more: true,
    })
    expect((await state()).log[0]?.path).toContain('q=retry%20repo%3Aacme%2Ftools')
  })

  test('M1, M10: issues without pull requests, in pages; one with its comments; texts are cut', async () => {
    const { ask, seed, state } = await setUpGithub()
    const long = 'b'.repeat(50_000)
    await seed('issues', { title: 'One', labels: ['bug'] }, { title: 'Two', body: long })
    await seed('pulls', { title: 'Three', head: 'topic', base: 'main' })
    await seed(
      'issues/2/comments',
      ...Array.from({ length: 21 }, (_, n) => ({ body: `c${n} ${long}` })),
    )
    const listed = await ask('list_issues', { per_page: 2, labels: ['bug', 'ui'] })
    expect(listed).toMatchObject({ issues: [{ number: 2 }], page: 1, has_more: true })
    const one = (await ask('list_issues', { page: 2, per_page: 2 })).issues[0]
    expect(one).toEqual({
      number: 1,
      title: 'One',
      state: 'open',
      author: 'rookery-bot',
      labels: ['bug'],
      comments: 0,
      url: 'https://github.com/acme/tools/issues/1',
      created_at: '2026-11-20T09:00:00Z',
      updated_at: '2026-11-20T09:00:00Z',
    })
    const whole = await ask('get_issue', { number: 2 })
    expect(whole.body.length).toBe(github.bodyCharsMax + 1)
    expect(whole.comment_list.length).toBe(github.commentsMax)
    expect(whole.has_more).toBe(true)
    expect(bytes(whole)).toBeLessThan(50 * 1024)
    expect((await ask('get_issue', { number: 2, page: 2 })).has_more).toBe(false)
    const paths = (await state()).log.map(({ path }) => path)
    expect(paths).toContain('/repos/acme/tools/issues?state=open&page=1&per_page=2&labels=bug%2Cui')
  })

  test('M1, M10: pull requests, and one with the files it changes', async () => {
    const { ask, seed } = await setUpGithub()
    await seed('pulls', { title: 'Better', head: 'topic', base: 'main', body: 'why' })
    const { pull_requests, has_more } = await ask('list_pull_requests')
    expect(has_more).toBe(false)
    expect(pull_requests).toEqual([
      {
        number: 1,
        title: 'Better',
        state: 'open',
        author: 'rookery-bot',
        from: 'acme:topic',
        into: 'main',
        url: 'https://github.com/acme/tools/pull/1',
        created_at: '2026-11-20T09:00:00Z',
        updated_at: '2026-11-20T09:00:00Z',
      },
    ])
    const whole = await ask('get_pull_request', { number: 1 })
    expect(whole).toMatchObject({ body: 'why', commits: 2, file_count: 2, mergeable: true })
    expect(whole.files.map(({ path }: { path: string }) => path)).toEqual(['src/a.ts', 'src/b.ts'])
    expect(bytes(whole)).toBeLessThan(github.patchCharsMax + 2_000)
  })
})

describe('what GitHub refuses is an error that a model can act on', () => {
  const resetAt = Date.UTC(2026, 10, 21, 18, 30)
  test.each([
    [
      '401',
      { status: 401, body: { message: 'Bad credentials' } },
      /^Error: .*credential \(401\)\. GitHub says: Bad credentials\. An admin .*set it again\.$/,
    ],
    [
      '403',
      { status: 403, body: { message: 'Resource not accessible by personal access token' } },
      /^Error: .*permissions .*\(403\)\. GitHub says: Resource not accessible by personal access token\. An admin .*more permissions\.$/,
    ],
    [
      '403 of the rate limit',
      {
        status: 403,
        body: { message: 'API rate limit exceeded' },
        headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(resetAt / 1000) },
      },
      /^Error: The rate limit of GitHub .*\(403\)\. .*resets on 2026-11-21T18:30:00\.000Z\.$/,
    ],
    [
      '429 of the secondary limit',
      { status: 429, body: { message: 'slow down' }, headers: { 'retry-after': '60' } },
      /^Error: The rate limit of GitHub .*\(429\)\. Retry after 60 s\.$/,
    ],
    [
      '404',
      { status: 404, body: { message: 'Not Found' } },
      /^Error: Not found .*\(404\)\. GitHub says: Not Found\. Check the name; the credential may not have access\.$/,
    ],
    [
      '410',
      { status: 410, body: { message: 'Issues are disabled for this repo' } },
      /^Error: Deleted .*or disabled .*\(410\)\. GitHub says: Issues are disabled for this repo\.$/,
    ],
    [
      '502 with a page',
      { status: 502, body: '<html>Unicorn!</html>', headers: { 'content-type': 'text/html' } },
      /^Error: GitHub failed \(502\)\. Try again later\. The action may still have completed\.$/,
    ],
  ])('M14: %s', async (_what, plan, words) => {
    const { plan: next, fail } = await setUpGithub()
    await next({ method: 'GET', ...plan })
    expect(await fail('list_issues')).toMatch(words)
  })

  test('M14: 422 names the fields', async () => {
    const { plan, fail } = await setUpGithub()
    const errors = [
      { resource: 'Issue', field: 'title', code: 'missing_field' },
      { resource: 'Label', code: 'custom', message: 'label is odd' },
      'also this',
    ]
    await plan({ method: 'POST', status: 422, body: { message: 'Validation Failed', errors } })
    expect(await fail('create_issue', { title: 'x' })).toMatch(
      /^Error: .*arguments \(422\)\. GitHub says: Validation Failed\. title: missing_field; Label: label is odd; github: also this$/,
    )
  })

  test('M14: a page, invalid JSON, a lost answer and one that is too large', async () => {
    const { plan, fail } = await setUpGithub()
    const html = { 'content-type': 'text/html' }
    await plan({ method: 'GET', status: 200, headers: html, body: '<h1>Sign in</h1>' })
    expect(await fail('list_issues')).toMatch(/answered with a web page\. It begins: Sign in\./)
    await plan({ method: 'GET', status: 200, body: '[{"number":' })
    expect(await fail('list_issues')).toMatch(/answered with invalid JSON/)
    const big = { type: 'file', encoding: 'none', content: '', size: 5_000_000, sha: 'f' }
    await plan({ method: 'GET', status: 200, body: big })
    expect(await fail('get_file', { path: 'big' })).toMatch(/The file has 5000000 bytes/)
    await plan({ method: 'GET', isLost: true })
    expect(await fail('list_issues')).toMatch(/could not be reached, or the connection broke/)
    await plan({ method: 'GET', status: 200, body: `["${'x'.repeat(github.answerBytesMax)}"]` })
    expect(await fail('list_issues')).toMatch(/^Error: The response of GitHub is too large to read/)
  })
})

test.each([
  ['list_repos', {}],
  ['get_file', { path: 'x' }],
  ['search_code', { query: 'x' }],
  ['list_issues', {}],
  ['get_issue', { number: 1 }],
  ['create_issue', { title: 'x' }],
  ['add_comment', { number: 1, body: 'x' }],
  ['list_pull_requests', {}],
  ['get_pull_request', { number: 1 }],
  ['create_pull_request', { title: 'x', head: 'a', base: 'b' }],
])('M14: %s says so when an answer has no form that GitHub documents', async (tool, args) => {
  for (const body of [null, 'x', [{}], { items: [{}] }]) {
    const { call, plan } = await setUpGithub()
    const odd = { status: 200, body: JSON.stringify(body) }
    await plan({ method: 'GET', ...odd }, { method: 'GET', ...odd }, { method: 'POST', ...odd })
    const named = ['list_repos', 'search_code'].includes(tool)
      ? {}
      : { owner: 'acme', repo: 'tools' }
    const { text } = await call(`github_${tool}`, { ...named, ...args })
    expect(text, JSON.stringify(body)).toMatch(/^Error: GitHub answered in an unknown format/)
  }
})
