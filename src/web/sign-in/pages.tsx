import type { Hono } from 'hono'
import type { FC } from 'hono/jsx'
import {
  type EntryRule,
  type HubEnv,
  readCookie,
  requireSameOrigin,
  requireSession,
  toAppError,
  toErrorResponse,
  writeCookie,
} from '../../hub/http/page-entry'
import { requestSignIn } from '../../hub/mail/actions'
import { addressInput } from '../../hub/mail/addresses'
import {
  type Adder,
  describeDevice,
  findLinkAccount,
  isBegunBy,
  type OpenedSession,
  signIn,
  signInInput,
  signOut,
} from '../../hub/sign-in/actions'
import {
  findProvider,
  identityErrors,
  linkIdentity,
  listProviders,
  type Provider,
  type ProviderId,
  readIdentity,
  signInWithIdentity,
  startIdentity,
  takeIdentityAttempt,
} from '../../hub/sign-in/identity-actions'
import {
  signInWithPasskey,
  startPasskeySignIn,
  toRpId,
  usePasskeyInput,
} from '../../hub/sign-in/passkey-actions'
import { selectHasMovedPasskeys } from '../../hub/sign-in/queries'
import { run } from '../../shared/db/batch'
import { ErrorSummary, Field, Submit } from '../form/fields'
import {
  createForm,
  type FormDefinition,
  type FormState,
  readFormWith,
  rejectForm,
} from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { readForm } from '../frame/read-form'
import {
  findBrowserOrigin,
  findSite,
  redirectFromAddress,
  setSessionCookie,
  toLocalPath,
} from '../frame/requests'
import { createFrame, type PageContext, page, pageErrors, sendPage } from '../frame/send-page'

/** Opening the form is reading; sending it, or opening a sign-in link, is an attempt. */
const signInRule: EntryRule = {
  rate: ({ req }) => (req.method === 'POST' || req.query('token') ? 'signIn' : 'read'),
  body: 'secret',
  async shows(c) {
    if (c.req.method !== 'POST') return c.req.query('token')
    const read = await readForm(c)
    return read('token') || read('key').trim()
  },
}

/** Registers the ways to sign in, and `POST /logout`. */
export function registerSignInPages(app: Hono<HubEnv>): void {
  app.get(
    '/login',
    page((c) => redirectFromAddress(c) ?? openLogin(c), signInRule),
  )
  app.post('/login', page(sendKey, signInRule))
  app.post('/login/link', page(useLink, signInRule))
  app.post('/login/mail', page(sendMailLink, signInRule))
  registerPasskeySignIn(app)
  registerIdentityPages(app)
  app.post(
    '/logout',
    page(async (c) => {
      requireSameOrigin(c)
      const token = readCookie(c, 'session')
      if (token) await signOut(c.var.context, token)
      setSessionCookie(c, { token: '', expiresAt: 0 })
      return c.redirect('/', 303)
    }),
  )
}

/** Shows the form, or whom the link of `?token=` signs in. Neither signs in. */
async function openLogin(c: PageContext): Promise<Response> {
  const token = c.req.query('token')
  const next = toLocalPath(c.req.query('next'))
  if (!token) return showLogin(c, createForm({ key: '', next }))
  try {
    const name = await findLinkAccount(c.var.context, token)
    const props = { frame: createFrame(c), name, token, next }
    return sendPage(c, <LinkPage {...props} />)
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}

async function sendKey(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const { form, ...read } = readFormWith(signInInput, await readForm(c), loginForm)
  const next = toLocalPath(form.typed.next)
  if (!read.isValid) return showLogin(c, { ...form, typed: { ...form.typed, next } }, 400)
  try {
    return redirectSignedIn(c, await signIn(c.var.context, read.value, findDevice(c)), next)
  } catch (error) {
    return showRefusal(c, error, { next, field: 'key' })
  }
}

async function useLink(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const read = await readForm(c)
  const next = toLocalPath(read('next'))
  try {
    return redirectSignedIn(
      c,
      await signIn(c.var.context, { token: read('token') }, findDevice(c)),
      next,
    )
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}

/** Answers the same whether an account has the address or not. */
async function sendMailLink(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const read = readFormWith(addressInput, await readForm(c), mailForm)
  const next = toLocalPath((await readForm(c))('next'))
  try {
    if (!read.isValid) return showLogin(c, createForm({ key: '', next }), 400, read.form)
    await requestSignIn(c.var.context, read.value.address)
    return sendPage(c, <LinkSentPage frame={createFrame(c)} address={read.form.typed.address} />)
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}

const attemptRule: EntryRule = {
  rate: 'signIn',
  body: 'secret',
  async shows(c) {
    const parsed = usePasskeyInput.safeParse({ response: (await readForm(c))('response') })
    return parsed.data?.response.id
  },
}

/** Registers `POST /login/passkey` and the challenge that its script asks for. */
function registerPasskeySignIn(app: Hono<HubEnv>): void {
  app.post(
    '/login/passkey/options',
    page(async (c) => {
      try {
        requireSameOrigin(c)
        return c.json(await startPasskeySignIn(c.var.context, findSite(c)))
      } catch (error) {
        return toErrorResponse(c, error)
      }
    }),
  )
  app.post('/login/passkey', page(sendPasskey, attemptRule))
}

async function sendPasskey(c: PageContext): Promise<Response> {
  requireSameOrigin(c)
  const read = await readForm(c)
  const next = toLocalPath(read('next'))
  try {
    const input = usePasskeyInput.parse({ response: read('response') })
    const session = await signInWithPasskey(c.var.context, findSite(c), input, findDevice(c))
    return redirectSignedIn(c, session, next)
  } catch (error) {
    return showRefusal(c, error, { next })
  }
}

/** A visit without an answer does nothing. */
const callbackRule: EntryRule = {
  rate: ({ req }) => (req.query('code') || req.query('error') ? 'signIn' : 'read'),
  body: 'none',
  shows: (c) => readCookie(c, 'sign_in'),
}

/**
 * Registers, for each kind of provider, the forms that start signing in (`POST /login/oidc`) and linking
 * (`POST /settings/sign-in/oidc`), and the page that the provider sends the browser back to.
 */
function registerIdentityPages(app: Hono<HubEnv>): void {
  for (const id of ['oidc', 'github'] as const satisfies ProviderId[]) {
    app.post(
      `/login/${id}`,
      page(async (c) => {
        requireSameOrigin(c)
        const next = toLocalPath((await readForm(c))('next'))
        try {
          return await startWith(c, findProvider(c.var.context, id), null, next)
        } catch (error) {
          return showRefusal(c, error, { next })
        }
      }),
    )
    app.post(
      `/settings/sign-in/${id}`,
      page(async (c) => {
        const { viewer, sessionId } = await requireSession(c)
        const adder = { id: viewer.id, sessionId }
        return startWith(c, findProvider(c.var.context, id), adder, '/settings/sign-in')
      }),
    )
    app.get(
      `/login/${id}/callback`,
      page((c) => handleCallback(c, findProvider(c.var.context, id)), callbackRule),
    )
  }
}

const findRedirectUri = (c: PageContext, { id }: Provider): string =>
  `${findBrowserOrigin(c)}/login/${id}/callback`

async function startWith(
  c: PageContext,
  provider: Provider,
  adder: Adder | null,
  next: string,
): Promise<Response> {
  const redirectUri = findRedirectUri(c, provider)
  const started = await startIdentity(c.var.context, provider, redirectUri, { adder, next })
  // Proves that the browser that comes back is the one that started.
  writeCookie(c, 'sign_in', started.token, { expires: new Date(started.expiresAt) })
  const props = { frame: createFrame(c), label: provider.label, url: started.url }
  return sendPage(c, <ContinuePage {...props} />)
}

async function handleCallback(c: PageContext, provider: Provider): Promise<Response> {
  const token = readCookie(c, 'sign_in')
  writeCookie(c, 'sign_in', '', { maxAge: 0 })
  const { context } = c.var
  const answer = { callback: new URL(c.req.url), redirectUri: findRedirectUri(c, provider) }
  let isLinking = false
  try {
    const attempt = await takeIdentityAttempt(context, provider, token)
    const { next = '/' } = attempt.data
    isLinking = attempt.accountId !== null
    const adder = isLinking ? await requireBeginner(c, attempt) : null
    const claims = await readIdentity(context, provider, attempt, answer)
    if (adder === null) {
      const session = await signInWithIdentity(context, provider, claims, findDevice(c))
      return redirectSignedIn(c, session, next)
    }
    await linkIdentity(context, provider, adder, claims)
    return c.redirect(next, 303)
  } catch (error) {
    // Who links an identity is signed in, and needs another way to sign in only when the session has ended.
    if (isLinking && toAppError(error).code !== 'UNAUTHORIZED') throw error
    return showRefusal(c, error, { next: '/' })
  }
}

/** Returns who comes back. @throws FORBIDDEN for any other session than the one that began the attempt */
async function requireBeginner(
  c: PageContext,
  attempt: Parameters<typeof isBegunBy>[0],
): Promise<Adder> {
  const { viewer, sessionId } = await requireSession(c, { isReturning: true }).catch((error) => {
    throw toAppError(error).code === 'UNAUTHORIZED' ? pageErrors.sessionEnded() : error
  })
  const adder = { id: viewer.id, sessionId }
  if (!isBegunBy(attempt, adder)) throw identityErrors.otherSession()
  return adder
}

/** Renders the sign-in page. It shows nothing of the hub, because a private hub shows it to anybody. */
async function showLogin(
  c: PageContext,
  form: LoginFormState,
  status = 200,
  rejected?: MailFormState,
): Promise<Response> {
  const { settings, db, mail } = c.var.context
  const origins = [...(settings.ROOKERY_ORIGIN ?? []), findBrowserOrigin(c)]
  const hasMoved = await run(db, selectHasMovedPasskeys(origins.map(toRpId)))
  const providers = listProviders(settings)
  // Without a mail server nothing is shown of mail.
  const byMail = mail.problem === null ? (rejected ?? createForm({ address: '' })) : null
  const props = { frame: createFrame(c), form, providers, hasMoved, byMail }
  return sendPage(c, <LoginPage {...props} />, status)
}

/** Renders the sign-in page after a refused attempt. */
function showRefusal(
  c: PageContext,
  error: unknown,
  { next, field }: { next: string; field?: 'key' },
): Promise<Response> {
  const form = createForm({ key: '', next })
  const { code, status, message, hint } = toAppError(error)
  // rejectForm reports UNAUTHORIZED as an ended session; here it is a refused key, link or passkey
  if (code !== 'UNAUTHORIZED') {
    return showLogin(c, rejectForm(loginForm, form, error).form, status)
  }
  const errors = field ? { [field]: message } : {}
  return showLogin(c, { ...form, errors, problem: { message, hint } }, status)
}

type MailFormState = FormState<'address'>

const mailForm: FormDefinition<'address'> = {
  rejected: 'No link was sent.',
  fields: { address: { message: 'Enter a mail address, such as ana@example.com.' } },
}

type LoginField = 'key' | 'next'
type LoginFormState = FormState<LoginField>

const loginForm: FormDefinition<LoginField> = {
  rejected: 'You are not signed in.',
  fields: {
    key: { isSecret: true, message: 'Enter the key of your account.' },
    /** Path to redirect to after signing in. */
    next: { path: null },
  },
}

interface LoginPageProps {
  frame: Frame
  form: LoginFormState
  providers: readonly Provider[]
  /** Whether there are passkeys for an address that the hub no longer has. */
  hasMoved: boolean
  /** Null: the hub sends no mail. */
  byMail: MailFormState | null
}

const LoginPage: FC<LoginPageProps> = ({ frame, form, providers, hasMoved, byMail }) => (
  <Layout frame={frame} title="Sign in" scripts={['passkeys']}>
    <h1>Sign in</h1>
    <div class="up4">
      <ErrorSummary problem={form.problem} />
      {hasMoved && <MovedNotice />}
      <ul class="acts">
        <li>
          <PasskeyForm next={form.typed.next} />
        </li>
        {providers.map(({ id, label }) => (
          <li>
            <form method="post" action={`/login/${id}`}>
              <input type="hidden" name="next" value={form.typed.next} />
              <Submit>Sign in with {label}</Submit>
            </form>
          </li>
        ))}
      </ul>
    </div>
    {byMail && <MailBlock form={byMail} />}
    <section class="block up5">
      <h2>With a key</h2>
      <p class="lede">The key of your account was shown once, when the account was created.</p>
      <form class="form up4" method="post" action="/login">
        <input type="hidden" name="next" value={form.typed.next} />
        <Field
          form={form}
          name="key"
          label="Key"
          isBare
          type="password"
          required
          autocomplete="current-password"
          spellcheck={false}
        />
        <div>
          <Submit>Sign in</Submit>
        </div>
      </form>
    </section>
    <p class="meta up5">
      On your own machine, <code>npm start</code> prints a sign-in link for the admin. No account
      yet? Ask an admin of this hub for an invitation. To register a program, see the{' '}
      <a href="/docs#accounts">docs</a>.
    </p>
  </Layout>
)

const MailBlock: FC<{ form: MailFormState }> = ({ form }) => (
  <section class="block up5">
    <h2>By mail</h2>
    <p class="lede">A link that signs you in is sent to the address that you confirmed.</p>
    <ErrorSummary problem={form.problem} />
    <form class="form up4" method="post" action="/login/mail">
      <Field
        form={form}
        name="address"
        label="Mail address"
        isBare
        type="email"
        required
        autocomplete="email"
      />
      <div>
        <Submit>Send a link</Submit>
      </div>
    </form>
  </section>
)

const LinkSentPage: FC<{ frame: Frame; address: string }> = ({ frame, address }) => (
  <Layout frame={frame} title="Check your mail">
    <h1>Check your mail</h1>
    <p class="lede">
      If an account of this hub has confirmed {address}, a link was sent to it. The link works once,
      for 15 minutes.
    </p>
  </Layout>
)

/** The button of passkeys. A script shows it and fills in the answer of the device. */
const PasskeyForm: FC<{ next: string }> = ({ next }) => (
  <form
    method="post"
    action="/login/passkey"
    data-passkey="get"
    data-options="/login/passkey/options"
    hidden
  >
    <input type="hidden" name="next" value={next} />
    <input type="hidden" name="response" value="" />
    <Submit isMain>Sign in with a passkey</Submit>
    <p class="bad" role="status" data-message />
  </form>
)

const MovedNotice: FC = () => (
  <div class="wrong">
    <strong>This hub has a new address.</strong>
    <p>
      Passkeys that were added at the old address do not work here. Ask an admin for a sign-in link,
      then add a passkey again in your settings.
    </p>
  </div>
)

/** Returns a name for the device of a request. */
const findDevice = (c: PageContext): string => describeDevice(c.req.header('user-agent'))

/** Stores an opened session in its cookie and redirects. */
function redirectSignedIn(c: PageContext, session: OpenedSession, next: string): Response {
  setSessionCookie(c, session)
  return c.redirect(next, 303)
}

interface LinkPageProps {
  frame: Frame
  /** The account that the link signs in. */
  name: string
  token: string
  next: string
}

/**
 * The page of a sign-in link. Its button signs in, because programs that scan mail or load pages ahead open
 * links too.
 */
const LinkPage: FC<LinkPageProps> = ({ frame, name, token, next }) => (
  <Layout frame={frame} title="Sign in">
    <h1>Sign in to {frame.hubName}</h1>
    <p class="lede">The link works once, in one browser.</p>
    <form class="form up4" method="post" action="/login/link">
      <input type="hidden" name="token" value={token} />
      <input type="hidden" name="next" value={next} />
      <div>
        <Submit isMain autofocus>
          Continue as {name}
        </Submit>
      </div>
    </form>
  </Layout>
)

/**
 * Sends the browser on to another service. It is a page and no redirect, because the pages' content
 * security policy lets no form lead to another site.
 */
export const ContinuePage: FC<{ frame: Frame; label: string; url: string }> = (props) => {
  const { frame, label, url } = props
  return (
    <Layout frame={frame} title={`Continue to ${label}`} refreshTo={url}>
      <h1>Continue to {label}</h1>
      <p class="up4">
        <a class="btn go" href={url} rel="noreferrer">
          Continue to {label}
        </a>
      </p>
    </Layout>
  )
}
