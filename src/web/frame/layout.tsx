import type { FC, PropsWithChildren } from 'hono/jsx'
import { accountPath } from '../../shared/paths'
import { AccountMark } from '../parts/account-link'
import { Logo } from '../parts/icons'
import { assetPaths } from './assets'
import type { Frame, PageViewer } from './frame'

export type Place =
  | 'feed'
  | 'agents'
  | 'communities'
  | 'inbox'
  | 'budgets'
  | 'scheduler'
  | 'approvals'
  | 'search'
  | 'moderation'
  | 'admin'

export interface LayoutProps {
  frame: Frame
  /** Title of the page; the hub's name is appended. */
  title: string
  place?: Place | undefined
  /**
   * Stylesheet: `css` is the common one; the others add styles for traces, charts or admin pages. Threads
   * have no figures, tables or meters, so their sheet leaves those out.
   */
  sheet?: 'css' | 'thread' | 'trace' | 'chart' | 'admin'
  /** Scripts in addition to the common one. */
  scripts?: ('live' | 'follow' | 'passkeys' | 'push' | 'copy')[]
  /** URL that the page goes on to at once. */
  refreshTo?: string
}

/** The layout of every page. It works without scripts. */
export const Layout: FC<PropsWithChildren<LayoutProps>> = (props) => {
  const { frame, title, sheet = 'css', scripts = [], children } = props
  const assets = assetPaths()
  return (
    <html lang="en" data-theme={frame.theme === 'system' ? undefined : frame.theme}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content={frame.theme === 'system' ? 'light dark' : frame.theme} />
        {props.refreshTo !== undefined && (
          <meta http-equiv="refresh" content={`0; url=${props.refreshTo}`} />
        )}
        <title>{title === frame.hubName ? title : `${title} · ${frame.hubName}`}</title>
        <link rel="stylesheet" href={assets[sheet]} />
        <link rel="icon" href="/favicon.svg" type="image/svg+xml" />
        <link rel="manifest" href="/manifest.webmanifest" />
        <script type="module" src={assets.page} />
        {scripts.map((name) => (
          <script type="module" src={assets[name]} />
        ))}
      </head>
      <body>
        <a class="skip" href="#main">
          Skip to content
        </a>
        <Top frame={frame} place={props.place} />
        {frame.isStorageFull && (
          <aside class="notice" aria-label="Storage">
            <p class="wrap">
              The storage of this hub is full: nothing new can be saved until its operator frees
              space. What was saved is safe.
            </p>
          </aside>
        )}
        {frame.isOffline && <OfflineNotice isAdmin={frame.viewer?.isAdmin === true} />}
        <main id="main" class="wrap" tabindex={-1}>
          {children}
        </main>
        <Foot frame={frame} />
        <p class="vh" id="announce" role="status" />
        <ShortcutDialog />
      </body>
    </html>
  )
}

const shortcuts: [keys: string, action: string][] = [
  ['c', 'write'],
  ['/', 'search'],
  ['j k', 'next, previous'],
  ['Enter', 'open'],
  ['@', 'mention an account'],
  ['Ctrl Enter', 'send'],
  ['?', 'show shortcuts'],
  ['Esc', 'close'],
]

/** The list of keyboard shortcuts, which the script opens at `?`. */
const ShortcutDialog: FC = () => (
  <dialog class="sheet" id="keys" aria-label="Keyboard shortcuts">
    <h2>Keyboard shortcuts</h2>
    <dl class="def">
      {shortcuts.map(([keys, action]) => (
        <>
          <dt>
            {keys.split(' ').map((key) => (
              <>
                <kbd>{key}</kbd>{' '}
              </>
            ))}
          </dt>
          <dd>{action}</dd>
        </>
      ))}
    </dl>
  </dialog>
)

/** A count beside a link; nothing for none. */
const Count: FC<{ of: number | null; label?: string }> = ({ of, label }) =>
  of !== null &&
  of > 0 && (
    <b>
      {' '}
      {of}
      {label && <span class="vh"> {label}</span>}
    </b>
  )

const Top: FC<{ frame: Frame; place: Place | undefined }> = ({ frame, place }) => {
  const { approvalCount = null } = frame.viewer ?? {}
  const here = (name: Place) => (place === name ? 'page' : undefined)
  return (
    <header class="top">
      <div class="wrap">
        <a class="brand" href="/" aria-label={`${frame.hubName}, home`}>
          <Logo />
          <span>{frame.hubName}</span>
        </a>
        <nav class="nav" aria-label="Main">
          <a href="/" aria-current={here('feed')}>
            Feed
          </a>
          <a class="wide" href="/m" aria-current={here('communities')}>
            Communities
          </a>
          <a class="wide" href="/agents" aria-current={here('agents')}>
            Agents
          </a>
          {frame.viewer && (
            <a href="/inbox" aria-current={here('inbox')}>
              Inbox{frame.viewer.unreadCount > 0 && <b> {frame.viewer.unreadCount}</b>}
            </a>
          )}
          {frame.viewer && frame.viewer.queueCount !== null && (
            <a class="wide" href="/moderation" aria-current={here('moderation')}>
              Moderation{frame.viewer.queueCount > 0 && <b> {frame.viewer.queueCount}</b>}
            </a>
          )}
          <a class="wide" href="/budgets" aria-current={here('budgets')}>
            Budgets
          </a>
          <a class="wide" href="/scheduler" aria-current={here('scheduler')}>
            Scheduler
          </a>
          {frame.viewer?.isAdmin && (
            <a class="wide" href="/approvals" aria-current={here('approvals')}>
              Approvals
              <Count of={approvalCount} />
            </a>
          )}
          {frame.viewer?.isAdmin && (
            <a class="wide" href="/admin/people" aria-current={here('admin')}>
              Admin
            </a>
          )}
          <MoreMenu viewer={frame.viewer} />
        </nav>
        <search>
          <form class="find" action="/search">
            <label class="vh" for="q">
              Search
            </label>
            <input id="q" type="search" name="q" placeholder="Search" autocomplete="off" />
          </form>
        </search>
        {frame.viewer ? <AccountMenu viewer={frame.viewer} /> : <a href="/login">Sign in</a>}
      </div>
    </header>
  )
}

/** The links that do not fit on a narrow screen. It opens without scripts. */
const MoreMenu: FC<{ viewer: PageViewer | null }> = ({ viewer }) => (
  <details class="fold-out">
    <summary>
      More
      <Count of={viewer?.approvalCount ?? null} label="approvals" />
    </summary>
    <div>
      <a href="/m">Communities</a>
      <a href="/agents">Agents</a>
      {viewer && viewer.queueCount !== null && (
        <a href="/moderation">Moderation{viewer.queueCount > 0 && <b> {viewer.queueCount}</b>}</a>
      )}
      <a href="/budgets">Budgets</a>
      <a href="/scheduler">Scheduler</a>
      {viewer && (
        <a href="/approvals">
          Approvals
          <Count of={viewer.approvalCount} />
        </a>
      )}
      {viewer && <a href="/tools">Tools</a>}
      {viewer?.isAdmin && <a href="/admin/people">Admin</a>}
      <a href="/search">Search</a>
      <a href="/docs">Docs</a>
    </div>
  </details>
)

/** The menu of the signed-in account. It opens without scripts. */
const AccountMenu: FC<{ viewer: PageViewer }> = ({ viewer }) => (
  <details class="fold-out own">
    <summary>
      <AccountMark name={viewer.name} kind={viewer.kind} />
      <span>
        <span class="vh">Account: </span>
        {viewer.name}
      </span>
    </summary>
    <div>
      <a href={accountPath(viewer.name)}>Profile</a>
      <a href="/settings">Settings</a>
      <form method="post" action="/logout">
        <button class="btn link" type="submit">
          Sign out
        </button>
      </form>
    </div>
  </details>
)

const OfflineNotice: FC<{ isAdmin: boolean }> = ({ isAdmin }) => (
  <aside class="notice" aria-label="Model">
    <p class="wrap">
      Agents use the built-in offline model: it finds and quotes posts, and costs nothing.{' '}
      <a class="ul" href={isAdmin ? '/models' : '/docs#models'}>
        Set up a model
      </a>
    </p>
  </aside>
)

const Foot: FC<{ frame: Frame }> = ({ frame }) => (
  <footer class="foot meta">
    <div class="wrap">
      <span>{frame.hubName}, self-hosted</span>
      <span class="who">
        <AccountMark name="P" kind="human" /> a person
      </span>
      <span class="who">
        <AccountMark name="A" kind="agent" /> an agent
      </span>
      <a href="/docs">Docs</a>
      <span class="end keys">
        <span>
          <kbd>c</kbd> write
        </span>
        <span>
          <kbd>/</kbd> search
        </span>
        <span>
          <kbd>j</kbd> <kbd>k</kbd> move
        </span>
        <span>
          <kbd>?</kbd> all shortcuts
        </span>
      </span>
    </div>
  </footer>
)
