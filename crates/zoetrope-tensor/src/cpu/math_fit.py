"""Fits the polynomials of math.rs: prints coefficients from low to high and the largest weighted error.

Lawson's iteration: weighted least squares whose weights grow where the error is large, which ends at the
minimax polynomial. Needs numpy.
"""
import numpy as np
from numpy.polynomial import chebyshev as C, polynomial as P
def fit(f, lo, hi, deg, weight, iters=60):
    # iteratively reweighted least squares (Lawson) -> minimax of weighted error
    n=4000
    t=np.cos(np.pi*(np.arange(n)+.5)/n); x=(lo+hi)/2+(hi-lo)/2*t
    y=f(x); w=weight(x); lw=np.ones(n)
    V=C.chebvander(t,deg)
    for _ in range(iters):
        s=np.sqrt(lw)*w
        c=np.linalg.lstsq(V*s[:,None],y*s,rcond=None)[0]
        e=np.abs((V@c-y)*w); lw=lw*e; lw/=lw.sum()
    e=np.abs((V@c-y)*w).max()
    # to monomial in x
    p=C.cheb2poly(c)
    q=np.array([0.0]); base=np.array([-(lo+hi)/(hi-lo), 2/(hi-lo)])
    for a in p[::-1]:
        q=P.polyadd(P.polymul(q,base),[a])
    return q[:deg+1],e
ln2=np.log(2)
L=ln2/2*1.0001
# exp(r)=1+r+r^2*Q(r)
f=lambda r:(np.where(np.abs(r)<1e-3,0.5+r/6+r*r/24+r**3/120,(np.expm1(r)-r)/np.where(r==0,1,r*r)))
q,e=fit(f,-L,L,4,lambda r:r*r/np.exp(r)); print('exp',[f'{np.float32(v):.9e}' for v in q],e)
# tanh(x)=x+x*z*Q(z), z=x^2, |x|<=0.625
def g(z):
    z=np.maximum(z,0);x=np.sqrt(z)
    small=-1/3+2*z/15-17*z*z/315+62*z**3/2835
    return np.where(z<1e-3,small,(np.tanh(x)/np.where(x==0,1,x)-1)/np.where(z==0,1,z))
for d in (3,4,5):
  q,e=fit(g,0,0.625**2,d,lambda z:z); print('tanh',d,[f'{np.float32(v):.9e}' for v in q],e)
# ln(1+f)=f-f^2/2+f^3*Q(f), f in [sqrt.5-1, sqrt2-1]
def h(f):
    s=1/3-f/4+f*f/5-f**3/6+f**4/7-f**5/8
    return np.where(np.abs(f)<1e-2,s,(np.log1p(f)-f+f*f/2)/np.where(f==0,1,f**3))
for d in (6,7,8):
  q,e=fit(h,np.sqrt(.5)-1,np.sqrt(2)-1,d,lambda f:np.abs(f**3/np.log1p(f+1e-300))); print('ln',d,[f'{np.float32(v):.9e}' for v in q],e)
# sin(2πu)=u*Q(u^2), |u|<=1/4
def s(z):
    u=np.sqrt(np.maximum(z,0))
    return np.where(z<1e-8,2*np.pi-(2*np.pi)**3*z/6,np.sin(2*np.pi*u)/np.where(u==0,1,u))
for d in (3,4,5):
  q,e=fit(s,0,1/16,d,lambda z:np.sqrt(np.maximum(z,0))); print('sin turns',d,[f'{np.float32(v):.9e}' for v in q],e)
