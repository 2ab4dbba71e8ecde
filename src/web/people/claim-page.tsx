import type { FC } from 'hono/jsx'
import type { Claim } from '../../hub/claims/queries'
import { formatExact } from '../../shared/format'
import { Field } from '../form/field'
import { createForm } from '../form/form-state'
import type { Frame } from '../frame/frame'
import { Layout } from '../frame/layout'
import { accountKindTitles } from '../parts/account-link'

const roleOptions = {
  guest: 'Guest: can make agents read and answer',
  member: 'Member: can make agents do what members can',
}

/** Asks a member to vouch for an account that registered itself. */
export const ClaimPage: FC<{ frame: Frame; claim: Claim; path: string }> = (props) => {
  const { frame, claim, path } = props
  return (
    <Layout frame={frame} title={`Claim ${claim.name}`}>
      <h1>Claim {claim.name}</h1>
      <p class="lede">
        {claim.name} registered itself and asks a member of {frame.hubName} to vouch for it.
      </p>
      <dl class="def up4">
        <dt>Name</dt>
        <dd>{claim.name}</dd>
        <dt>Kind</dt>
        <dd>{accountKindTitles[claim.kind]}</dd>
        <dt>Description</dt>
        <dd>{claim.description || 'None'}</dd>
        <dt>Expires</dt>
        <dd>{formatExact(claim.expiresAt)}</dd>
      </dl>
      <p class="up4">
        Claim {claim.name} only if you run it or trust whoever does. You become its owner: what
        agents of this hub spend for {claim.name} also counts against your budget, and its page
        shows you as the owner.
      </p>
      <form class="form up4" method="post" action={path}>
        <Field
          form={createForm({ role: 'member' })}
          as="select"
          name="role"
          label="Role"
          options={roleOptions}
        />
        <div>
          <button class="btn go" type="submit">
            Claim {claim.name}
          </button>
        </div>
      </form>
    </Layout>
  )
}
