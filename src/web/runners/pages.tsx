import type { Hono } from 'hono'
import {
  declareEntry,
  type HubEnv,
  httpErrors,
  readCredential,
  requireAdminSender,
  requireViewer,
  toErrorResponse,
} from '../../hub/http/page-entry'
import { upgradeErrors } from '../../hub/live/errors'
import {
  authenticateRunner,
  createRunnerKey,
  drainRunner,
  removeRunner,
  revokeRunnerKey,
  runnerKeyInput,
} from '../../hub/runners/actions'
import { selectRunnerKeys } from '../../hub/runners/queries'
import { createForm } from '../form/form-state'
import { readFormWith } from '../form/read-form-with'
import { rejectForm } from '../form/reject-form'
import { readForm, readFormKey } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { type RunnerKeyFormState, runnerKeyForm } from './key-section'
import { RunnersPage } from './runners-page'

const path = '/runners'
const emptyForm = (): RunnerKeyFormState => createForm({ label: '' })

/** Registers `/runners`, where admins see and control the machines of coding agents, and the runners' socket. */
export function registerRunnerPages(app: Hono<HubEnv>): void {
  app.get(
    path,
    page((c) => showRunners(c, { form: emptyForm() })),
  )
  app.get('/runners/socket', declareEntry({ rate: 'connect', body: 'none' }, connectRunner))
  app.post('/runners/keys', page(addKey))
  app.post(
    '/runners/keys/revoke',
    page((c) => act(c, (admin, read) => revokeRunnerKey(c.var.context, admin, read('id')))),
  )
  app.post(
    '/runners/drain',
    page((c) =>
      act(c, (admin, read) => {
        const isDraining = read('is_draining') === 'true'
        return drainRunner(c.var.context, admin, read('id'), { is_draining: isDraining })
      }),
    ),
  )
  app.post(
    '/runners/remove',
    page((c) => act(c, (admin, read) => removeRunner(c.var.context, admin, read('id')))),
  )
}

/** Opens the socket of a runner. No other key opens it, and this key opens nothing else. */
async function connectRunner(c: PageContext): Promise<Response> {
  if (c.req.header('upgrade')?.toLowerCase() !== 'websocket') {
    return c.text(upgradeErrors.notWebSocket, 426, { upgrade: 'websocket' })
  }
  try {
    const credential = await readCredential(c)
    const hash = credential === null || credential.isSession ? null : credential.hash
    const { context, origin } = c.var
    const connection = await authenticateRunner(context, hash, origin)
    c.set('accountId', connection.accountId)
    return await context.agents.runners.connect(connection, c.req.raw)
  } catch (error) {
    return toErrorResponse(c, error)
  }
}

async function act(
  c: PageContext,
  change: (admin: { accountId: Admin['id'] }, read: (name: string) => string) => Promise<void>,
): Promise<Response> {
  const admin = await requireAdminSender(c)
  await change({ accountId: admin.id }, await readForm(c))
  return c.redirect(path, 303)
}

type Admin = Awaited<ReturnType<typeof requireAdminSender>>

/** Creates a key and shows it in the response: a redirect would put it into the browser's history. */
async function addKey(c: PageContext): Promise<Response> {
  const { id: accountId, keyId } = await requireAdminSender(c)
  const read = readFormWith(runnerKeyInput, await readForm(c), runnerKeyForm)
  if (!read.isValid) return showRunners(c, { form: read.form, status: 400 })
  try {
    const actor = { accountId, keyId, idempotencyKey: await readFormKey(c) }
    const { answer } = await createRunnerKey(c.var.context, actor, read.value)
    return showRunners(c, { form: emptyForm(), created: answer })
  } catch (error) {
    return showRunners(c, rejectForm(runnerKeyForm, read.form, error))
  }
}

interface Shown {
  form: RunnerKeyFormState
  created?: { label: string; apiKey: string }
  status?: number
}

async function showRunners(c: PageContext, { form, created, status }: Shown): Promise<Response> {
  const { frame, answers } = await readPage(c, { keys: selectRunnerKeys() })
  if (!frame.viewer?.isAdmin) {
    await requireViewer(c, 'read')
    throw httpErrors.adminOnly()
  }
  const list = await c.var.context.agents.runners.list()
  const props = { frame, list, keys: answers.keys, form, created: created ?? null }
  return sendPage(c, <RunnersPage {...props} origin={c.var.origin} />, status)
}
