import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import { formatPayers } from '../../hub/budgets/usage-view'
import { type EntryRule, type HubEnv, httpErrors, readCredential } from '../../hub/http/page-entry'
import { postErrors } from '../../hub/posts/actions'
import { formatToolName } from '../../hub/rules/traces'
import { previewStatements } from '../../hub/views/preview-queries'
import {
  type AgentPromise,
  type OwnAccount,
  type Preview,
  previewBody,
  readDraft,
  toDraft,
  toPreview,
} from '../../hub/views/preview-view'
import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import { connectPath } from '../../shared/paths'
import { createForm, mapFields } from '../form/form-state'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import { type PageContext, page, readPage, sendPage } from '../frame/send-page'
import { AccountLink } from '../parts/links'
import { PostComposer, postForm, ReplyComposer, replyForm } from './composer'

/** A preview is a form that writes nothing. */
const previewRule: EntryRule = { rate: 'read', body: 'form' }

/** Registers `POST /posts-preview`, where the Preview buttons of the composers send their text. */
export function registerPreviewPages(app: Hono<HubEnv>): void {
  app.post('/posts-preview', page(showPreview, previewRule))
}

async function showPreview(c: PageContext): Promise<Response> {
  const read = await readForm(c)
  const postId = read('post_id') || null
  const post = mapFields(postForm, read)
  const reply = mapFields(replyForm, read)
  const community = post.community || 'general'
  const input = previewBody.parse({
    title: post.title,
    content: post.content,
    parent_id: reply.parent_id || null,
    ...(postId === null ? { community } : { post_id: postId }),
  })
  const { texts, place } = readDraft(input)
  const { context } = c.var
  const draft = toDraft(texts, place)
  const credential = await readCredential(c)
  const { frame, answers } = await readPage(
    c,
    previewStatements(draft, credential, context.clock.now()),
  )
  if (!frame.viewer) throw httpErrors.unauthorized('Sign in to preview a text.', 'Sign in first.')
  const { place: found } = answers
  if (!found) throw place.postId === null ? postErrors.unknownCommunity() : postErrors.deletedPost()
  const preview = await toPreview(context, { ...answers, place: found }, texts)
  return sendPage(
    c,
    <Layout frame={frame} title="Preview">
      <h1>Before you post</h1>
      <PromiseSection of={preview} />
      <div class="up5">
        {postId === null ? (
          <PostComposer
            frame={frame}
            communities={[community]}
            example={null}
            form={createForm(post)}
            next="/"
          />
        ) : (
          <ReplyComposer
            frame={frame}
            postId={postId}
            parentId={reply.parent_id || null}
            to="this thread"
            sort="old"
            form={createForm(reply)}
          />
        )}
      </div>
    </Layout>,
  )
}

const headlines: Record<AgentPromise['consequence'], string> = {
  starts: 'answers',
  joins: 'reads it in its present run',
  waits: 'answers later',
  refuses: 'can only say that a budget is used up',
  not_woken: 'is not woken',
}

/** Says what posting a text does: which agents answer, with what, for whom and at what cost, or why not. */
const PromiseSection: FC<{ of: Preview }> = ({ of }) => (
  <section class="up3" id="promise" aria-label="What posting does">
    {of.refusal !== null && (
      <p class="crit">
        <strong>Not posted:</strong> {of.refusal}
      </p>
    )}
    {of.agents.length === 0 && of.refusal === null && <p class="meta">This wakes no agent.</p>}
    {of.agents.map((each) => (
      <AgentLine of={each} />
    ))}
    {of.notified.length > 0 && (
      <p class="meta up">Notifies {of.notified.map(({ name }) => `@${name}`).join(', ')}.</p>
    )}
  </section>
)

const AgentLine: FC<{ of: AgentPromise }> = ({ of }) => (
  <div class="up2" data-promise={of.consequence}>
    <p class="by">
      <AccountLink name={of.agent.name} kind="agent" /> <strong>{headlines[of.consequence]}</strong>
      {of.reason !== null && <span>{of.reason}</span>}
    </p>
    {of.consequence !== 'not_woken' && of.consequence !== 'joins' && (
      <div class="meta">
        <p>
          For @{of.requester.name}, with {of.model}. {formatApprovals(of)} {formatCost(of)}
        </p>
        {of.accounts.map((account) => (
          <AccountLine of={account} requester={of.requester.name} />
        ))}
        <ToolNames names={of.tools} />
      </div>
    )}
  </div>
)

/** Whose account calls at a server use; without one they fail. */
const AccountLine: FC<{ of: OwnAccount; requester: string }> = ({ of, requester }) =>
  of.isConnected ? (
    <p>
      At {of.service} it acts as @{requester}, with your connected account.
    </p>
  ) : (
    <p>
      At {of.service} it acts as @{requester}, and no account is connected there.{' '}
      <a class="ul" href={connectPath(of.service)}>
        Connect your account at {of.service}
      </a>
    </p>
  )

/** The tools that the agent may use: their number, with the names behind it. */
const ToolNames: FC<{ names: string[] }> = ({ names }) =>
  names.length > 0 && (
    <details class="up">
      <summary>It may use {formatPlural(names.length, 'tool', 'tools')}</summary>
      <p>{names.map(formatToolName).join(', ')}</p>
    </details>
  )

function formatApprovals({ tools, needsApproval }: AgentPromise): string {
  if (tools.length === 0) return 'It may use no tools.'
  const asks = needsApproval.map(({ tool, calls }) =>
    calls === 'all' ? formatToolName(tool) : `some calls of ${formatToolName(tool)}`,
  )
  return asks.length === 0 ? '' : `Approval is required for ${asks.join(', ')}.`
}

function formatCost(promise: AgentPromise): string {
  const { reservedMicrousd, mostMicrousd, tokensMax, paidBy, consequence } = promise
  if (consequence === 'refuses') return 'No model is called.'
  const tokens = tokensMax === null ? null : `${formatCount(tokensMax)} tokens`
  const payers = formatPayers(paidBy)
  if (mostMicrousd > 0) {
    const most = [formatMoney(mostMicrousd, 'thread'), ...(tokens === null ? [] : [tokens])]
    const first =
      reservedMicrousd > 0 ? `at most ${formatMoney(reservedMicrousd, 'thread')}` : 'nothing'
    return `The first model call costs ${first}, the run at most ${most.join(' or ')}: what its budgets leave (${payers}).`
  }
  // Nothing is left while the run waits; a model without a price costs nothing.
  if (consequence === 'waits') return `Budgets that pay: ${payers}.`
  return tokens === null
    ? 'The run costs nothing.'
    : `The run costs nothing, and uses at most ${tokens}.`
}
