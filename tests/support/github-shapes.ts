/** GitHub objects as documented: the fields that tools read, among many that they must omit. */
export type Json = Record<string, unknown>

const at = '2026-11-20T09:00:00Z'
const api = 'https://api.github.com'
const web = 'https://github.com'

const user = (login: string): Json => ({
  login,
  id: 583231,
  node_id: 'MDQ6VXNlcjU4MzIzMQ==',
  type: 'User',
  site_admin: false,
  avatar_url: 'https://avatars.githubusercontent.com/u/583231?v=4',
  gravatar_id: '',
  url: `${api}/users/${login}`,
  html_url: `${web}/${login}`,
  followers_url: `${api}/users/${login}/followers`,
  following_url: `${api}/users/${login}/following{/other_user}`,
  gists_url: `${api}/users/${login}/gists{/gist_id}`,
})

export const repo = (owner: string, name: string): Json => ({
  id: 1296269,
  node_id: 'MDEwOlJlcG9zaXRvcnkxMjk2MjY5',
  name,
  full_name: `${owner}/${name}`,
  owner: user(owner),
  private: owner === 'acme',
  html_url: `${web}/${owner}/${name}`,
  description: 'What we work with.',
  fork: false,
  url: `${api}/repos/${owner}/${name}`,
  archive_url: `${api}/repos/${owner}/${name}/{archive_format}{/ref}`,
  default_branch: 'main',
  language: 'TypeScript',
  archived: false,
  open_issues_count: 3,
  pushed_at: at,
  created_at: at,
  updated_at: at,
  size: 108,
  stargazers_count: 80,
  permissions: { admin: false, push: true, pull: true },
})

export const issue = (name: string, number: number, given: Json): Json => ({
  id: 1000 + number,
  node_id: 'MDU6SXNzdWUx',
  number,
  state: 'open',
  locked: false,
  url: `${api}/repos/${name}/issues/${number}`,
  html_url: `${web}/${name}/issues/${number}`,
  events_url: `${api}/repos/${name}/issues/${number}/events`,
  title: given.title,
  body: given.body ?? null,
  user: user('rookery-bot'),
  labels: ((given.labels as string[] | undefined) ?? []).map((label) => ({
    id: 208045946,
    name: label,
    color: 'f29513',
    default: false,
    description: null,
  })),
  assignees: ((given.assignees as string[] | undefined) ?? []).map(user),
  milestone: null,
  comments: 0,
  author_association: 'CONTRIBUTOR',
  closed_at: null,
  created_at: at,
  updated_at: at,
  reactions: { url: 'x', total_count: 0 },
})

export const comment = (name: string, number: number, id: number, body: string): Json => ({
  id,
  node_id: 'MDEyOklzc3VlQ29tbWVudDE=',
  body,
  user: user('rookery-bot'),
  url: `${api}/repos/${name}/issues/comments/${id}`,
  html_url: `${web}/${name}/issues/${number}#issuecomment-${id}`,
  issue_url: `${api}/repos/${name}/issues/${number}`,
  created_at: at,
  updated_at: at,
  author_association: 'COLLABORATOR',
})

export const pull = (name: string, number: number, given: Json): Json => ({
  ...issue(name, number, given),
  html_url: `${web}/${name}/pull/${number}`,
  pull_request: { url: `${api}/repos/${name}/pulls/${number}` },
  diff_url: `${web}/${name}/pull/${number}.diff`,
  head: {
    label: given.label,
    ref: String(given.label).split(':')[1],
    sha: 'c'.repeat(40),
    repo: repo('acme', 'tools'),
  },
  base: {
    label: `acme:${given.base}`,
    ref: given.base,
    sha: 'd'.repeat(40),
    repo: repo('acme', 'tools'),
  },
  draft: given.draft === true,
  merged_at: null,
  merged: false,
  mergeable: true,
  commits: 2,
  additions: 10,
  deletions: 3,
  changed_files: 2,
})

export const file = (filename: string, patch: string): Json => ({
  sha: 'e'.repeat(40),
  filename,
  status: 'modified',
  additions: 5,
  deletions: 1,
  changes: 6,
  patch,
  blob_url: `${web}/acme/tools/blob/main/${filename}`,
  raw_url: `${web}/acme/tools/raw/main/${filename}`,
  contents_url: `${api}/repos/acme/tools/contents/${filename}`,
})
