import type { Hono } from 'hono'
import type { FC, PropsWithChildren } from 'hono/jsx'
import * as z from 'zod'
import { formatPayers } from '../../hub/budgets/usage-view'
import { type EntryRule, type HubEnv, readCredential, readReader } from '../../hub/http/page-entry'
import { renderText, type TextTable } from '../../hub/markdown/render-text'
import { dmErrors } from '../../hub/messages/actions'
import { selectConversation } from '../../hub/messages/queries'
import { postErrors } from '../../hub/posts/actions'
import { selectPost } from '../../hub/posts/queries'
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
import { limits } from '../../shared/config'
import { formatCount, formatMoney, formatPlural } from '../../shared/format'
import { connectPath } from '../../shared/paths'
import { showsText } from '../../shared/texts'
import { ErrorSummary } from '../form/fields'
import { createForm, mapFields, toPageError, toProblem } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { KeptForm, readForm, readKeptForm } from '../frame/read-form'
import {
  createFrame,
  type PageContext,
  page,
  pageErrors,
  readPage,
  sendPage,
} from '../frame/send-page'
import { FirstMessageForm, MessageComposer } from '../messages/messages-page'
import { AccountLink, TextLink } from '../parts/links'
import { Prose } from '../parts/prose'
import { PostComposer, postForm, ReplyComposer, replyForm } from './composer'
import { EditForm, postEditForm } from './edit-page'
import { selectMentioned } from './post-queries'
import { readSort } from './thread-sort'

/** A preview is a form that writes nothing. */
const previewRule: EntryRule = { rate: 'read', body: 'form' }

/** Registers `POST /posts-preview`, where the Preview buttons of the composers send their text. */
export function registerPreviewPages(app: Hono<HubEnv>): void {
  app.post('/posts-preview', page(showPreview, previewRule))
}

type Read = (name: string) => string

async function showPreview(c: PageContext): Promise<Response> {
  const read = await readForm(c)
  try {
    if (read('edit')) return await previewEdit(c, read)
    if (read('conversation') || read('to')) return await previewMessage(c, read)
    return await previewText(c, read)
  } catch (error) {
    if (toPageError(error).code !== 'UNAUTHORIZED') throw error
    return showSignIn(c)
  }
}

async function previewText(c: PageContext, read: Read): Promise<Response> {
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
  if (!frame.viewer) throw pageErrors.sessionEnded()
  const { place: found } = answers
  if (!found) throw place.postId === null ? postErrors.unknownCommunity() : postErrors.deletedPost()
  const preview = await toPreview(context, { ...answers, place: found }, texts)
  const shown = postId === null ? post : { title: '', content: reply.content }
  return sendPage(
    c,
    <PreviewPage
      frame={frame}
      heading="Before you post"
      table={postId === null ? 'posts' : 'comments'}
      of={shown}
      names={answers.targets.map(({ name }) => name)}
      promise={preview}
    >
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
          sort={readSort(c.req.query('sort'))}
          form={createForm(reply)}
        />
      )}
    </PreviewPage>,
  )
}

/** Shows a text that is edited, with links for the accounts that its thread mentions, as the thread does. */
async function previewEdit(c: PageContext, read: Read): Promise<Response> {
  const postId = read('edit')
  const commentId = read('comment_id') || null
  const typed = mapFields(postEditForm, read)
  const { frame, answers } = await readPage(c, {
    post: selectPost({ id: postId, reader: await readReader(c) }),
    mentioned: selectMentioned({ postId }),
  })
  if (!frame.viewer) throw pageErrors.sessionEnded()
  if (!answers.post) throw postErrors.unknownPost()
  return sendPage(
    c,
    <PreviewPage
      frame={frame}
      heading="Before you save"
      table={commentId === null ? 'posts' : 'comments'}
      of={typed}
      names={answers.mentioned.map(({ name }) => name)}
    >
      <EditForm
        postId={postId}
        commentId={commentId}
        form={createForm(typed)}
        base={read('base')}
      />
    </PreviewPage>,
  )
}

async function previewMessage(c: PageContext, read: Read): Promise<Response> {
  const id = read('conversation')
  const credential = await readCredential(c)
  const now = c.var.context.clock.now()
  const { frame, answers } = await readPage(c, {
    conversation: id === '' ? null : selectConversation(credential, now, id),
  })
  if (!frame.viewer) throw pageErrors.sessionEnded()
  const { conversation } = answers
  if (id !== '' && !conversation) throw dmErrors.unknownConversationPage()
  const to = read('to')
  const content = read('content')
  return sendPage(
    c,
    <PreviewPage
      frame={frame}
      heading="Before you send"
      table="messages"
      of={{ title: '', content }}
      names={[conversation?.otherName ?? to.trim()]}
    >
      {conversation ? (
        <MessageComposer conversation={conversation} form={createForm({ content })} />
      ) : (
        <FirstMessageForm form={createForm({ to, content })} />
      )}
    </PreviewPage>,
  )
}

/** Keeps what was typed for after a sign-in: the form writes nothing, so that it can be sent again. */
async function showSignIn(c: PageContext): Promise<Response> {
  const kept = await readKeptForm(c)
  const problem = toProblem(pageErrors.sessionEnded())
  return sendPage(
    c,
    <Layout frame={createFrame(c)} title="Sign in to preview">
      <h1>Sign in to preview</h1>
      <div class="up4">
        <ErrorSummary problem={problem} />
      </div>
      <p class="acts up4">
        <a class="btn" href="/login" target="_blank" rel="noopener">
          Sign in
        </a>
      </p>
      {kept && <KeptForm kept={kept} />}
    </Layout>,
    problem.status,
  )
}

interface PreviewPageProps {
  frame: Frame
  heading: string
  table: TextTable
  of: { title: string; content: string }
  /** Accounts whose names become links. */
  names: string[]
  promise?: Preview
}

/** The page of a preview, with the form below it. */
const PreviewPage: FC<PropsWithChildren<PreviewPageProps>> = (props) => {
  const { frame, heading, table, of, names, promise, children } = props
  const content = previewContent.parse(of.content)
  const { columns } = renderText(table, { id: 'preview', content })
  const known = new Set(names.map((name) => name.toLowerCase()))
  return (
    <Layout frame={frame} title="Preview">
      <h1>{heading}</h1>
      {promise && <PromiseSection of={promise} />}
      <section class="up4" id="shown" aria-label="Preview of the text">
        <p class="meta">Preview</p>
        {of.title !== '' && <h2>{of.title}</h2>}
        {showsText(content) ? (
          <Prose of={{ content, html: columns.html }} knownNames={known} />
        ) : (
          <p class="meta">Nothing to show yet.</p>
        )}
      </section>
      <div class="up5">{children}</div>
    </Layout>
  )
}

const previewContent = z.string().max(limits.post.contentCharsMax)

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
      <TextLink href={connectPath(of.service)}>Connect your account at {of.service}</TextLink>
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
