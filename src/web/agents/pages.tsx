import type { Hono } from 'hono'
import { diffFiles } from '../../hub/definitions/diff-files'
import { definitionErrors } from '../../hub/definitions/errors'
import { requireEditor } from '../../hub/definitions/may-edit'
import { selectVersions, type VersionRow } from '../../hub/definitions/queries'
import { readFiles, restoreDefinition } from '../../hub/definitions/save-definition'
import { grantErrors } from '../../hub/grants/errors'
import { type HubEnv, readReader, requireViewer, toAppError } from '../../hub/http/page-entry'
import type { FormProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { versionsPath } from './agent-paths'
import { AgentsPage } from './agents-page'
import { createTar } from './create-tar'
import { registerEditPages } from './edit-pages'
import { agentsShown, selectAgentList } from './page-queries'
import { VersionsPage } from './versions-page'

/** Registers `/agents`, `/agents/new`, and `/a/:name/edit` and `/a/:name/versions` with their forms. */
export function registerAgentPages(app: Hono<HubEnv>): void {
  app.get('/agents', page(showAgents))
  registerEditPages(app)
  app.get(
    '/a/:name/versions',
    page((c) => showVersions(c, null)),
  )
  app.post('/a/:name/versions', page(restore))
  app.get('/a/:name/versions/:file', page(sendExport))
}

async function showAgents(c: PageContext): Promise<Response> {
  const after = (c.req.query('after') ?? '').slice(0, 100)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    agents: selectAgentList(after, now, await readReader(c)),
  })
  const rows = answers.agents.slice(0, agentsShown)
  const next = answers.agents.length > agentsShown ? (rows.at(-1)?.name ?? null) : null
  return sendPage(c, <AgentsPage frame={frame} rows={rows} next={next} />)
}

const nameOf = (c: PageContext): string => c.req.param('name') ?? ''

/** Reads the versions of the agent of the path. @throws NOT_FOUND, and for viewers who are neither admins nor the owner */
async function readVersions(c: PageContext): Promise<{ frame: Frame; rows: VersionRow[] }> {
  const { frame, answers } = await readPage(c, { versions: selectVersions({ name: nameOf(c) }) })
  if (!frame.viewer) throw grantErrors.signIn()
  requireEditor(frame.viewer, answers.versions[0]?.ownerId ?? null)
  if (answers.versions.length === 0) throw definitionErrors.notFound()
  return { frame, rows: answers.versions }
}

async function showVersions(
  c: PageContext,
  problem: FormProblem | null,
  status = 200,
): Promise<Response> {
  const name = nameOf(c)
  const { frame, rows } = await readVersions(c)
  const at = rows.findIndex(({ version }) => String(version) === c.req.query('show'))
  const [row, previous] = at < 0 ? [] : rows.slice(at, at + 2)
  const shown = row && {
    version: row.version,
    diffs: diffFiles(
      previous ? await readFiles(c.var.context, name, previous) : {},
      await readFiles(c.var.context, name, row),
    ),
  }
  const restored = problem === null ? Number(c.req.query('restored')) || null : null
  const props = { frame, name, rows, shown: shown ?? null, restored, problem }
  return sendPage(c, <VersionsPage {...props} />, status)
}

async function restore(c: PageContext): Promise<Response> {
  const viewer = await requireViewer(c, 'write')
  const read = await readForm(c)
  const name = nameOf(c)
  try {
    await restoreDefinition(c.var.context, viewer, name, {
      version: Number(read('version')) || 0,
      baseVersion: Number(read('base')) || 0,
    })
  } catch (error) {
    if (toAppError(error).code !== 'CONFLICT') throw error
    const problem = {
      message: 'Somebody else saved a version since you opened this page.',
      hint: 'Look at its changes, then restore again.',
    }
    return showVersions(c, problem, 409)
  }
  return c.redirect(`${versionsPath(name)}?restored=${Number(read('version')) || 0}`, 303)
}

/** Sends the folder of a version as a tar archive, as `npm run agents -- push` reads it. */
async function sendExport(c: PageContext): Promise<Response> {
  const name = nameOf(c)
  const { rows } = await readVersions(c)
  const [, version = ''] = /^(\d+)\.tar$/.exec(c.req.param('file') ?? '') ?? []
  const row = rows.find((each) => String(each.version) === version)
  if (!row) throw definitionErrors.noVersion(name, Number(version) || 0)
  const files = await readFiles(c.var.context, name, row)
  const inFolder = Object.entries(files).map(([path, text]) => [`${name}/${path}`, text])
  const archive = createTar(Object.fromEntries(inFolder), row.createdAt)
  return new Response(archive, {
    headers: {
      'content-type': 'application/x-tar',
      'content-disposition': `attachment; filename="${name}-${row.version}.tar"`,
      'x-content-type-options': 'nosniff',
    },
  })
}
